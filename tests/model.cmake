# The mathematics of one particle, compiled for every instruction set that the kernels are: each
# variant of a test is the same source. A processor without the instructions skips.
foreach(unit simd svd snow porous)
    foreach(variant ${FIRN_INSTRUCTION_SETS})
        set(name test_${unit}_${variant})
        firn_core_test(${name} SOURCES unit/${unit}.c LABELS asan)
        target_compile_options(${name} PRIVATE ${FIRN_FLAGS_${variant}})
        set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
    endforeach()
endforeach()

# The laws that every model obeys. Before the sanitizers the scalar twin stands for the other lanes.
get_property(models GLOBAL PROPERTY FIRN_MODELS)
foreach(model ${models})
    foreach(variant ${FIRN_INSTRUCTION_SETS})
        set(name test_laws_${model}_${variant})
        set(labels)
        if(variant STREQUAL scalar)
            set(labels asan)
        endif()
        firn_core_test(${name} SOURCES unit/model_laws.c LABELS ${labels})
        target_compile_definitions(${name} PRIVATE FIRN_ISA=${variant} FIRN_MODEL=${model}
            FIRN_MODEL_HEADER="models/${model}.h" FIRN_MODEL_TEXT="${model}")
        target_compile_options(${name} PRIVATE ${FIRN_FLAGS_${variant}})
        set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
    endforeach()
endforeach()
