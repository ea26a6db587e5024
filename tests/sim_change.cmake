# What may change while a simulation runs.
firn_core_test(test_sim_change SOURCES unit/sim_change.c LABELS asan)
