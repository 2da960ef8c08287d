/* Runs the scenarios of bindings/conformance in Kotlin. See bindings/conformance/README.md.

   usage: RunnerKt SCENARIOS URL ORGANIZATION FOLDER */
package io.kedge.kotlin

import java.io.File
import java.nio.file.Path
import java.util.concurrent.Executors
import java.util.logging.Level
import java.util.logging.Logger
import kotlin.io.path.createDirectory
import kotlin.io.path.writeBytes
import kotlin.system.exitProcess
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject

class Failed(message: String) : Exception(message)

private suspend fun run(
    scenario: JsonObject,
    number: Int,
    url: String,
    organization: String,
    folder: Path,
    dispatcher: CoroutineDispatcher,
) {
    val copies = folder.resolve("$number").createDirectory()
    val steps = scenario.getValue("steps").jsonArray
    Scenario(url, organization, copies, "scenario$number", dispatcher).use { running ->
        steps.forEachIndexed { index, step ->
            val wrong = running.run(step.jsonObject)
            if (wrong != null) throw Failed("step ${index + 1} (${step.jsonObject["do"]}): $wrong")
        }
        folder.resolve("$number.state").writeBytes(running.end(scenario.getValue("end").jsonObject))
    }
    println("ok ${steps.size} steps: ${scenario["name"]}")
}

fun main(arguments: Array<String>) {
    Logger.getLogger("io.kedge").level = Level.OFF // log.fail throws on purpose
    val (file, url, organization, folder) = arguments
    val scenarios = Json.parseToJsonElement(File(file).readText()).jsonObject
    check("${scenarios["format"]}" == "1") { "another format than 1" }
    // An undo group is one thread's: the edits of a scenario are made on one.
    Executors.newSingleThreadExecutor().asCoroutineDispatcher().use { dispatcher ->
        runBlocking {
            scenarios.getValue("scenarios").jsonArray.forEachIndexed { index, scenario ->
                try {
                    val of = scenario.jsonObject
                    run(of, index + 1, url, organization, Path.of(folder), dispatcher)
                } catch (failure: Failed) {
                    val name = scenario.jsonObject["name"]
                    System.err.println("scenario $name, ${failure.message}")
                    exitProcess(1)
                }
            }
        }
    }
    println("${scenarios.getValue("scenarios").jsonArray.size} scenarios passed")
}
