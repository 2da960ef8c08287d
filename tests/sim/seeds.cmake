# Some seconds of seeds, always the same ones; fewer under ThreadSanitizer, where a step costs the most.
# That every fault takes effect is asked of longer runs: scripts/sim --seconds 60.
set(seconds 20)
if("$ENV{KEDGE_TEST_PRESET}" STREQUAL "tsan")
  set(seconds 12)
endif()
execute_process(COMMAND ${PROGRAM} --seconds ${seconds} --from 1 --partial RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "kedge-sim ended with ${status}")
endif()
