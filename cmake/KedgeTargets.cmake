# Two functions make every target: one object library a folder, one program a test.

set(KEDGE_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes
    -Wmissing-prototypes -Wvla)

# Every target: C11, warnings, hidden symbols, and no fused multiply-add, so that a mutator gives
# the same number on every machine.
function(kedge_flags target)
  target_compile_features(${target} PRIVATE c_std_11)
  set_target_properties(${target} PROPERTIES C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden
                                             POSITION_INDEPENDENT_CODE ON)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  target_compile_options(${target} PRIVATE ${KEDGE_WARNINGS} -ffp-contract=off)
  if(KEDGE_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
endfunction()

# kedge_objects(NAME SOURCES a.c b.c LIBRARIES PkgConfig::X)
# An OBJECT library. LIBRARIES are passed on to whatever links it.
function(kedge_objects name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(${name} OBJECT ${ARG_SOURCES})
  kedge_flags(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LIBRARIES})
endfunction()

# kedge_program(NAME SOURCES a.c OBJECTS kedge_common … LIBRARIES X)
# A program in build/<preset>/bin.
function(kedge_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;OBJECTS;LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  kedge_flags(${name})
  target_link_libraries(${name} PRIVATE ${ARG_OBJECTS} ${ARG_LIBRARIES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endfunction()

# kedge_test(NAME SOURCES t.c OBJECTS kedge_common … LABELS unit TIMEOUT 60 ARGUMENTS …)
# A cmocka program, run by ctest under its labels (default: unit). One with the label engines or slow
# may answer 77: its engine is not there (tests/support/engines.h).
function(kedge_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;OBJECTS;LIBRARIES;LABELS;ARGUMENTS" ${ARGN})
  if(NOT KEDGE_TESTS)
    return()
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(KEDGE_SANITIZE OR KEDGE_COVERAGE)
    math(EXPR ARG_TIMEOUT "4 * ${ARG_TIMEOUT}")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  kedge_flags(${name})
  target_link_libraries(${name} PRIVATE ${ARG_OBJECTS} ${ARG_LIBRARIES} PkgConfig::CMOCKA)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
  if("unit" IN_LIST ARG_LABELS)
    set_property(GLOBAL APPEND PROPERTY KEDGE_UNIT_TESTS ${name})
  endif()
  if("engines" IN_LIST ARG_LABELS OR "slow" IN_LIST ARG_LABELS)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()

# kedge_sources_of(OUT kedge_common …)
# The sources of object libraries, by absolute path.
function(kedge_sources_of out)
  set(all)
  foreach(objects ${ARGN})
    get_target_property(folder ${objects} SOURCE_DIR)
    get_target_property(sources ${objects} SOURCES)
    foreach(source ${sources})
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
      list(APPEND all ${source})
    endforeach()
  endforeach()
  set(${out} ${all} PARENT_SCOPE)
endfunction()
