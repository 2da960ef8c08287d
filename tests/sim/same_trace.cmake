# The same seeds give the same traces: two runs print the same hash for each.
foreach(run 1 2)
  execute_process(COMMAND ${PROGRAM} --seeds 6 --from 42 --hash --partial
                  OUTPUT_VARIABLE printed_${run} RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "run ${run} ended with ${status}:\n${printed_${run}}")
  endif()
endforeach()
if(NOT printed_1 STREQUAL printed_2)
  message(FATAL_ERROR "two runs of the same seeds differ:\n${printed_1}\n${printed_2}")
endif()
if(NOT printed_1 MATCHES "seed 47 [0-9a-f]+")
  message(FATAL_ERROR "no hash of the last seed:\n${printed_1}")
endif()
