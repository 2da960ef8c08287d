# Some seconds of seeds; fewer under ThreadSanitizer, where one step costs the most. Whether every
# fault took effect is asked where there is time for enough seeds.
set(seconds 20)
set(partial)
if("$ENV{KEDGE_TEST_PRESET}" MATCHES "tsan|asan")
  set(partial --partial)
endif()
if("$ENV{KEDGE_TEST_PRESET}" STREQUAL "tsan")
  set(seconds 12)
endif()
execute_process(COMMAND ${PROGRAM} --seconds ${seconds} ${partial} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "kedge-sim ended with ${status}")
endif()
