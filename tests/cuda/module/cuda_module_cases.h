/* Cases of cuda_module_test that stand in files of their own. Each finds an open device in its fixture. */
#ifndef GPULOT_TESTS_CUDA_MODULE_CASES_H
#define GPULOT_TESTS_CUDA_MODULE_CASES_H

/* cuda_value_cases.c */
void test_values_are_the_generators(void **state);
void test_build_in_many_stages(void **state);
void test_digest_is_the_definition(void **state);
void test_special_values_are_seen(void **state);
void test_compare_says_where(void **state);

/* cuda_layer_cases.c */
void test_linear_against_float64(void **state);
void test_tf32(void **state);
void test_emulation_is_named(void **state);
void test_same_bits_every_time(void **state);
void test_tuning_times_candidates(void **state);
void test_sums_stay_float32(void **state);
void test_no_algorithm_names_the_shape(void **state);

#endif
