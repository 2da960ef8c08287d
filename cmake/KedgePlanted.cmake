# Programs with a bug on purpose, which show that a checker notices. A bug is a patch of the sources,
# tests/planted/NAME.patch; scripts/planted writes it.

find_program(KEDGE_PATCH patch REQUIRED)

# What a patch changes, as absolute paths.
function(kedge_planted_sources bug sources)
  set(patch ${PROJECT_SOURCE_DIR}/tests/planted/${bug}.patch)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${patch})
  file(STRINGS ${patch} lines REGEX "^\\+\\+\\+ b/")
  list(TRANSFORM lines REPLACE "^\\+\\+\\+ b/([^ \t]+).*" "${PROJECT_SOURCE_DIR}/\\1")
  set(${sources} ${lines} PARENT_SCOPE)
endfunction()

# kedge_planted_BUG: the objects of the files that the patch changes, out of copies with the bug in them.
function(kedge_planted_objects bug libraries)
  if(TARGET kedge_planted_${bug})
    return()
  endif()
  kedge_planted_sources(${bug} sources)
  set(planted ${PROJECT_SOURCE_DIR}/tests/planted)
  set(folder ${PROJECT_BINARY_DIR}/planted/${bug})
  set(copies ${sources})
  list(TRANSFORM copies REPLACE "^${PROJECT_SOURCE_DIR}/" "${folder}/")
  add_custom_command(
    OUTPUT ${copies}
    COMMAND sh ${planted}/apply.sh ${planted}/${bug}.patch ${PROJECT_SOURCE_DIR} ${folder}
    DEPENDS ${planted}/apply.sh ${planted}/${bug}.patch ${sources}
    COMMENT "Planting ${bug}" VERBATIM)
  add_library(kedge_planted_${bug} OBJECT ${copies})
  kedge_flags(kedge_planted_${bug})
  target_compile_definitions(kedge_planted_${bug} PRIVATE KEDGE_ASSERT_OFF)
  target_link_libraries(kedge_planted_${bug} PRIVATE ${libraries})
endfunction()

# kedge_planted_program(NAME BUG bug OBJECTS kedge_common …)
# A program in build/<preset>/bin/planted: the objects, but for the files that have the bug.
function(kedge_planted_program name)
  cmake_parse_arguments(ARG "" "BUG" "OBJECTS" ${ARGN})
  kedge_planted_sources(${ARG_BUG} sources)
  set(sound)
  set(libraries)
  foreach(objects ${ARG_OBJECTS})
    set(left_out)
    get_target_property(folder ${objects} SOURCE_DIR)
    get_target_property(own ${objects} SOURCES)
    foreach(source ${own})
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder} OUTPUT_VARIABLE path)
      if(path IN_LIST sources)
        list(REMOVE_ITEM sources ${path})
        cmake_path(RELATIVE_PATH path BASE_DIRECTORY ${folder})
        string(REPLACE "." "[.]" file ${path}.)
        list(APPEND left_out ${file})
      endif()
    endforeach()
    list(JOIN left_out "|" left_out)
    if(left_out)
      list(APPEND sound "$<FILTER:$<TARGET_OBJECTS:${objects}>,EXCLUDE,/${objects}[.]dir/([.]/)?(${left_out})>")
    else()
      list(APPEND sound $<TARGET_OBJECTS:${objects}>)
    endif()
    list(APPEND libraries $<TARGET_PROPERTY:${objects},INTERFACE_LINK_LIBRARIES>)
  endforeach()
  if(sources)
    message(FATAL_ERROR "tests/planted/${ARG_BUG}.patch changes ${sources}, which is no source of ${name}. "
                        "Was it moved? scripts/planted --moved OLD NEW")
  endif()
  kedge_planted_objects(${ARG_BUG} "${libraries}")
  add_executable(${name} ${sound} $<TARGET_OBJECTS:kedge_planted_${ARG_BUG}>)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C
                                           RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/planted)
  target_link_options(${name} PRIVATE ${KEDGE_TEST_LINKER})
  target_link_libraries(${name} PRIVATE ${libraries})
endfunction()
