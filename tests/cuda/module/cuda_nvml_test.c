/* What the module makes of NVML's answers, without a device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "gpu/cuda/nvml.h"

/* namespaces(7): the link's text is the type and the inode number; the first PID namespace has 0xEFFFFFFC
 * (PROC_PID_INIT_INO in the kernel's include/linux/proc_ns.h). */
static void test_a_namespace_of_its_own_hides_processes(void **state)
{
    static const struct {
        const char *text;
        bool whole;
    } cases[] = {{"pid:[4026531836]", true}, {"pid:[4026532841]", false}, {"pid:[40265318360]", false}};
    char folder[] = "/tmp/gpulot-nvml-XXXXXX", link[64];

    (void)state;
    assert_int_equal(0xEFFFFFFCu, 4026531836u);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(link, sizeof link, "%s/pid", folder);
    assert_false(lot_nvml_lists_whole(link)); /* not known */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(symlink(cases[i].text, link), 0);
        assert_int_equal(lot_nvml_lists_whole(link), cases[i].whole);
        assert_int_equal(unlink(link), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_namespace_of_its_own_hides_processes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
