# Some seeds, always the same ones, after which .ci/run goes on. AddressSanitizer has others, as many as it can in some
# seconds.
# That every fault takes effect is asked of longer runs: scripts/sim --seconds 60.
set(which --seeds 40 --from 1)
if("$ENV{KEDGE_TEST_PRESET}" STREQUAL "asan")
  set(which --seconds 20 --from 1001)
endif()
execute_process(COMMAND ${PROGRAM} ${which} --partial RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "kedge-sim ended with ${status}")
endif()
