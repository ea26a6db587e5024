# What others link and find: `find_package(Firn)`, pkg-config, the manual page, completion.
include(CMakePackageConfigHelpers)
set(FIRN_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Firn)
set(FIRN_HERE ${CMAKE_CURRENT_LIST_DIR})

set_target_properties(firn_core PROPERTIES EXPORT_NAME core_static)
set_target_properties(firn_core_shared PROPERTIES EXPORT_NAME core)
if(TARGET firn_vdb)
    set_target_properties(firn_vdb PROPERTIES EXPORT_NAME vdb)
endif()
if(TARGET firn_shared)
    set_target_properties(firn_shared PROPERTIES EXPORT_NAME firn)
endif()
install(EXPORT FirnTargets NAMESPACE Firn:: DESTINATION ${FIRN_PACKAGE_DIR})
configure_package_config_file(${FIRN_HERE}/FirnConfig.cmake.in
    ${PROJECT_BINARY_DIR}/FirnConfig.cmake INSTALL_DESTINATION ${FIRN_PACKAGE_DIR})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/FirnConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/FirnConfig.cmake ${PROJECT_BINARY_DIR}/FirnConfigVersion.cmake
    DESTINATION ${FIRN_PACKAGE_DIR})

# The files of pkg-config find their prefix from where they lie, so that it may be moved.
file(RELATIVE_PATH FIRN_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(FIRN_STATIC_LIBS -lm)
if(FIRN_OPENMP)
    set(FIRN_STATIC_LIBS "-fopenmp -lm")
endif()
set(modules firn_core)
if(TARGET firn_shared)
    list(APPEND modules firn)
endif()
foreach(module ${modules})
    configure_file(${FIRN_HERE}/${module}.pc.in ${PROJECT_BINARY_DIR}/${module}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/${module}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# The program writes them from its own tables. Sanitized programs would take their time.
if(TARGET firn AND NOT FIRN_SANITIZE)
    # form, where it belongs, name of the file there
    set(manuals
        "man|${CMAKE_INSTALL_MANDIR}/man1|firn.1"
        "bash|${CMAKE_INSTALL_DATADIR}/bash-completion/completions|firn"
        "zsh|${CMAKE_INSTALL_DATADIR}/zsh/site-functions|_firn"
        "fish|${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d|firn.fish")
    foreach(row ${manuals})
        string(REPLACE "|" ";" row ${row})
        list(GET row 0 form)
        list(GET row 1 folder)
        list(GET row 2 name)
        set(file ${PROJECT_BINARY_DIR}/manual/${form}/${name})
        file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/manual/${form})
        add_custom_command(OUTPUT ${file} COMMAND firn manual ${form} > ${file} DEPENDS firn
            VERBATIM)
        list(APPEND files ${file})
        install(FILES ${file} DESTINATION ${folder})
    endforeach()
    add_custom_target(firn_manuals ALL DEPENDS ${files})
endif()

# Programs and libraries with all that other systems may lack, for the packages: bundle/.
if(TARGET firn_shared AND TARGET firn AND NOT FIRN_SANITIZE)
    find_program(PYTHON3 python3 PATHS /usr/bin NO_DEFAULT_PATH REQUIRED)
    set(programs firn_shared firn_vdb firn_core_shared firn firn-vdb-helper)
    foreach(program ${programs})
        # The old kind of run path counts for what those load in turn, too.
        target_link_options(${program} PRIVATE -Wl,--disable-new-dtags)
        list(APPEND natives $<TARGET_FILE:${program}>)
    endforeach()
    add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/bundle.stamp
        COMMAND ${PYTHON3} ${FIRN_HERE}/bundle.py ${PROJECT_BINARY_DIR}/bundle ${natives}
        COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/bundle.stamp
        DEPENDS ${FIRN_HERE}/bundle.py ${FIRN_HERE}/elf.py ${programs}
        COMMENT "Gathering programs and their libraries"
        VERBATIM)
    add_custom_target(firn_bundle ALL DEPENDS ${PROJECT_BINARY_DIR}/bundle.stamp)
endif()
