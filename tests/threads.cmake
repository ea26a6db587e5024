# What the parallel sort is made of.
foreach(part block_map radix)
    firn_core_test(test_${part} SOURCES unit/${part}.c LABELS asan tsan)
endforeach()
# Blocks that share nodes.
firn_core_test(test_sequence SOURCES unit/sequence.c LABELS tsan)
# Random sequences of all that may happen to a simulation.
firn_core_test(test_story SOURCES unit/story.c LABELS asan tsan TIMEOUT 900)
# Ranks inside one process. The second goes through all that ranks say to each other, too, in less time.
firn_core_test(test_ranks SOURCES unit/ranks.c LABELS slow TIMEOUT 900)
firn_core_test(test_rank_failures SOURCES unit/rank_failures.c LABELS asan tsan)
