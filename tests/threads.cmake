# What the parallel sort is made of.
foreach(part block_map radix)
    firn_core_test(test_${part} SOURCES unit/${part}.c LABELS asan tsan)
endforeach()
# Blocks that share nodes.
firn_core_test(test_sequence SOURCES unit/sequence.c LABELS tsan)
# Random sequences of all that may happen to a simulation.
firn_core_test(test_story SOURCES unit/story.c LABELS asan tsan)
# Ranks inside one process.
firn_core_test(test_ranks SOURCES unit/ranks.c LABELS asan tsan)
