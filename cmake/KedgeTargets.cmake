# Two functions make every target: one object library a folder, one program a test.

# Several hundred programs that nobody installs are linked, and gold needs a third of the time.
set(KEDGE_TEST_LINKER)
if(NOT CMAKE_CROSSCOMPILING)
  include(CheckLinkerFlag)
  check_linker_flag(C -fuse-ld=gold KEDGE_HAS_GOLD)
  if(KEDGE_HAS_GOLD)
    set(KEDGE_TEST_LINKER -fuse-ld=gold)
  endif()
endif()
# Most of a test runs once, so that its compiler takes longer than it. Release keeps the warnings that -O1 can give.
set(KEDGE_TEST_OPTIMIZATION $<$<CONFIG:RelWithDebInfo>:-O1>)
if(KEDGE_SANITIZE)
  set(KEDGE_TEST_OPTIMIZATION -O0)
endif()

set(KEDGE_WARNINGS -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wvla
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)

# Every target: C11, warnings, hidden symbols, and no fused multiply-add, so that a mutator gives
# the same number on every machine.
function(kedge_flags target)
  target_compile_features(${target} PRIVATE c_std_11)
  set_target_properties(${target} PROPERTIES C_EXTENSIONS OFF C_VISIBILITY_PRESET hidden
                                             POSITION_INDEPENDENT_CODE ON)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  if(CMAKE_SIZEOF_VOID_P EQUAL 4) # else files end at 2 GB, and times in 2038
    target_compile_definitions(${target} PRIVATE _FILE_OFFSET_BITS=64)
    if(NOT target MATCHES "^kedge_http") # it calls libcurl, which has the system's time_t
      target_compile_definitions(${target} PRIVATE _TIME_BITS=64)
    endif()
  endif()
  # Sections of their own, so that a linker can leave out the functions that its program does not use.
  target_compile_options(${target} PRIVATE ${KEDGE_WARNINGS} -ffp-contract=off -ffunction-sections -fdata-sections)
  if(CMAKE_C_COMPILER_ID MATCHES Clang) # what include/kedge tells Swift of pointers
    target_compile_options(${target} PRIVATE -Wno-nullability-extension -Wno-nullability-completeness)
  endif()
  if(MINGW) # what its headers make of isfinite and the like
    target_compile_options(${target} PRIVATE -Wno-float-conversion)
  endif()
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

# kedge_unit_test(NAME [THREADS] COMMAND program argument … TIMEOUT 360 ENVIRONMENT A=1)
# A test with the label unit. One that starts threads says THREADS, and has the label threads too:
# ThreadSanitizer runs these alone. The others run under a program that ends them if they start one.
# The targets kedge-unit-tests and kedge-threads-tests build what the command names.
function(kedge_unit_test name)
  cmake_parse_arguments(ARG "THREADS" "TIMEOUT" "COMMAND;ENVIRONMENT" ${ARGN})
  list(POP_FRONT ARG_COMMAND program)
  set(labels unit)
  set(launcher)
  if(ARG_THREADS)
    list(APPEND labels threads)
  endif()
  if(CMAKE_CROSSCOMPILING) # an emulator has threads, and does not know how to forbid them
    if(TARGET ${program})
      set(launcher ${CMAKE_CROSSCOMPILING_EMULATOR})
    endif()
  elseif(NOT ARG_THREADS AND NOT KEDGE_SANITIZE MATCHES "thread") # which has a thread of its own
    set(launcher kedge_one_thread)
  endif()
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  list(PREPEND ARG_COMMAND ${program})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 360)
  endif()
  if(KEDGE_SANITIZE OR KEDGE_COVERAGE)
    math(EXPR ARG_TIMEOUT "4 * ${ARG_TIMEOUT}")
  endif()
  add_test(NAME ${name} COMMAND ${launcher} ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${ARG_TIMEOUT}
                                          ENVIRONMENT "${ARG_ENVIRONMENT}")
  set(targets)
  if(TARGET "${launcher}")
    set(targets ${launcher})
  endif()
  foreach(word ${ARG_COMMAND})
    if(word MATCHES "^[$]<TARGET_FILE:(.*)>$")
      list(APPEND targets ${CMAKE_MATCH_1})
    endif()
  endforeach()
  foreach(label ${labels})
    set_property(GLOBAL APPEND PROPERTY KEDGE_TARGETS_OF_${label} ${targets})
  endforeach()
  # So that the target of a test builds all that its run needs.
  list(REMOVE_ITEM targets ${name})
  if(TARGET ${name} AND targets)
    add_dependencies(${name} ${targets})
  endif()
endfunction()

# kedge_does_less_with_a_sanitizer(OUT source…): whether one of these sources, or the header of its world, takes fewer
# samples there, or leaves a test out (tests/support/sampling.h).
function(kedge_does_less_with_a_sanitizer out)
  set(${out} FALSE PARENT_SCOPE)
  foreach(source ${ARGN})
    file(STRINGS ${source} marks REGEX "SAMPLING_|WORLD_STRIDE|STORES_STEP|__SANITIZE_" LIMIT_COUNT 1)
    if(marks)
      set(${out} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# kedge_test(NAME [THREADS] SOURCES t.c OBJECTS kedge_common … LABELS engines TIMEOUT 300 ARGUMENTS …)
# A cmocka program, run by ctest: a unit test, as above, or one with other labels. A unit test that does less with a
# sanitizer has the label sampled, too. One with the label engines or slow may answer 77: its engine is not there
# (tests/support/engines.h).
function(kedge_test name)
  cmake_parse_arguments(ARG "THREADS" "TIMEOUT" "SOURCES;OBJECTS;LIBRARIES;LABELS;ARGUMENTS" ${ARGN})
  if(NOT KEDGE_TESTS)
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  kedge_flags(${name})
  target_compile_options(${name} PRIVATE ${KEDGE_TEST_OPTIMIZATION})
  target_link_options(${name} PRIVATE ${KEDGE_TEST_LINKER})
  target_link_libraries(${name} PRIVATE ${ARG_OBJECTS} ${ARG_LIBRARIES} PkgConfig::CMOCKA)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(NOT ARG_LABELS)
    if(ARG_THREADS)
      set(threads THREADS)
    endif()
    kedge_unit_test(${name} ${threads} COMMAND ${name} ${ARG_ARGUMENTS} TIMEOUT ${ARG_TIMEOUT})
    kedge_does_less_with_a_sanitizer(less ${ARG_SOURCES})
    if(less)
      set_property(TEST ${name} APPEND PROPERTY LABELS sampled)
    endif()
    return()
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 360)
  endif()
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGUMENTS})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
  if("engines" IN_LIST ARG_LABELS OR "slow" IN_LIST ARG_LABELS)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()

# kedge_test_objects(NAME SOURCES a.c LIBRARIES X)
# What several tests share, compiled once, as they are.
function(kedge_test_objects name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  kedge_objects(${name} SOURCES ${ARG_SOURCES} LIBRARIES PkgConfig::CMOCKA ${ARG_LIBRARIES})
  target_compile_options(${name} PRIVATE ${KEDGE_TEST_OPTIMIZATION})
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
