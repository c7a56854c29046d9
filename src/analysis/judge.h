/* What the judges of a check share: the GPUs in their order, the options, and where findings go. Each judge
 * looks at one subject and adds findings; none depends on another's, except where it says so. */
#ifndef GPULOT_ANALYSIS_JUDGE_H
#define GPULOT_ANALYSIS_JUDGE_H

#include "analysis/check.h"

typedef struct lot_judged {
    const lot_record_head *head;
    const lot_observation *seen;
    size_t archive;      /* index of its run */
    bool repeated;       /* the same GPU stands in an earlier archive: no voice, nothing to compare */
    bool speed_judged;   /* against peers or an expectation */
    double missed_share; /* of its speed, the most of all findings that call it slow; 0 where none does */
    bool corrupt_itself; /* its own repeats or reference say so: no voice among its peers */
} lot_judged;

typedef struct lot_case {
    const lot_check_options *options;
    const lot_observed_run *runs;
    size_t run_count;
    lot_judged *gpus; /* sorted by lot_device_compare; as many as result->device_count */
    size_t count;
    lot_judged *earlier; /* of options->against, sorted likewise; NULL */
    size_t earlier_count;
    size_t *group_first; /* group_count + 1 indices into gpus */
    size_t group_count;
    size_t *group_comparison; /* likewise into result->comparisons; filled by lot_judge_speed */
    double tests;             /* of one GPU's speed in one comparison, over the whole run */
    double finding_chance;    /* of each such test */
    lot_check_result *result;
    lot_finding spare; /* where findings go once memory has run out */
    bool no_memory;
} lot_case;

/* Adds a finding about a GPU (or LOT_NO_DEVICE_INDEX) and sets its verdict; numbers NaN, texts empty. The
 * pointer is valid until the next finding; never NULL. */
lot_finding *lot_case_find(lot_case *c, size_t gpu, lot_verdict verdict, lot_evidence evidence,
                           const char *measure);

/* The same with the verdict slow, of a GPU that lacks this share of speed. */
lot_finding *lot_case_find_slow(lot_case *c, size_t gpu, lot_evidence evidence, const char *measure,
                                double share);

/* Sets number, threshold and unit. */
void lot_finding_number(lot_finding *finding, double number, double threshold, const char *unit);

/* Sets phase and schedule. */
void lot_finding_place(lot_finding *finding, const char *phase, const char *schedule);

/* Sets the sentence. */
void lot_finding_say(lot_finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Notes that this kind of evidence was there and found nothing wrong. */
void lot_case_good(lot_case *c, size_t gpu, lot_evidence evidence);

/* The GPUs of the earlier run that are of the same group: c->earlier[*first .. return value). */
size_t lot_case_earlier(const lot_case *c, const lot_record_head *head, size_t *first);

/* The chance of a false alarm that one test of a GPU's repeats may have; after lot_judge_speed has begun. */
double lot_case_repeat_chance(const lot_case *c);

/* Share of speed lost by one who takes e^d as long; the other way round below 0. */
double lot_speed_lost(double d);

/* "archive 2 " where several archives are checked, else "". */
typedef struct lot_archive_name {
    char text[32];
} lot_archive_name;

lot_archive_name lot_case_archive(const lot_case *c, size_t archive);

/* The judges, in the order in which they are called. */
void lot_judge_repeated(lot_case *c); /* GPUs that stand in two archives */
void lot_judge_state(lot_case *c);    /* lost, failed, not measured, counters of faults */
void lot_judge_results(lot_case *c);  /* own digests, finiteness, reference */
void lot_judge_digests(lot_case *c);  /* digests among peers and against the earlier run; after results */
void lot_judge_speed(lot_case *c);    /* times among peers; makes the comparisons */
void lot_judge_rates(lot_case *c);    /* times against expectations and the earlier run */
void lot_judge_repeats(lot_case *c);  /* drift, clusters and contention; after speed */
void lot_judge_soak(lot_case *c);     /* passes and drift of the soak */
void lot_judge_slowdown(lot_case *c); /* reasons for slowing down */
void lot_judge_setup(lot_case *c);    /* what must be equal and is not */
void lot_judge_silence(lot_case *c);  /* GPUs that nothing judged; last */

/* What could not have been seen, and what it cost; after all judges. */
void lot_case_blindness(lot_case *c);
void lot_case_cost(lot_case *c);

#endif
