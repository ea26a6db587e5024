# Ranks over MPI: the same program under the launcher, in as many processes as the name says.
if(TARGET firn_mpi AND NOT FIRN_SANITIZE)
    find_package(MPI REQUIRED COMPONENTS C)
    firn_core_test(mpi_ranks SOURCES unit/mpi_ranks.c ${PROJECT_SOURCE_DIR}/plugin/mpi/src/mpi_exchange.c)
    target_include_directories(mpi_ranks PRIVATE ${PROJECT_SOURCE_DIR}/plugin/mpi/include)
    target_link_libraries(mpi_ranks PRIVATE MPI::MPI_C)
    foreach(count 2 3 5)
        add_test(NAME mpi_ranks_${count}
            COMMAND ${MPIEXEC_EXECUTABLE} --allow-run-as-root --oversubscribe -n ${count}
                $<TARGET_FILE:mpi_ranks>
            WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
        # Cores are shared by all: who waits gives his away, and nobody is bound to one.
        set_tests_properties(mpi_ranks_${count} PROPERTIES TIMEOUT 300 ENVIRONMENT
            "${FIRN_TEST_ENVIRONMENT};OMPI_MCA_mpi_yield_when_idle=1;OMPI_MCA_hwloc_base_binding_policy=none")
    endforeach()
endif()

# The command under the launcher: the same files for any number of ranks.
if(TARGET firn_mpi AND TARGET firn AND NOT FIRN_SANITIZE)
    foreach(which "" slow)
        set(name mpi_cook)
        if(which)
            set(name mpi_cook_slow)
        endif()
        add_test(NAME ${name}
            COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/scripts/ranks_test.py
                $<TARGET_FILE:firn> ${MPIEXEC_EXECUTABLE} ${which})
        set_tests_properties(${name} PROPERTIES TIMEOUT 300 ENVIRONMENT "${FIRN_TEST_ENVIRONMENT}")
    endforeach()
    set_tests_properties(mpi_cook_slow PROPERTIES TIMEOUT 3600 LABELS slow)
endif()
