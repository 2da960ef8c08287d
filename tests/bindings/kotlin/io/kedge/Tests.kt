/* Runs the tests of JUnit in a process that tests/bindings/java/checked.sh watches. */
package io.kedge

import java.io.PrintWriter
import kotlin.system.exitProcess
import org.junit.platform.engine.discovery.DiscoverySelectors.selectClass
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder
import org.junit.platform.launcher.core.LauncherFactory
import org.junit.platform.launcher.listeners.SummaryGeneratingListener

fun main() {
    val listener = SummaryGeneratingListener()
    val request = LauncherDiscoveryRequestBuilder.request()
        .selectors(selectClass(KotlinTest::class.java)).build()
    LauncherFactory.create().execute(request, listener)
    listener.summary.printFailuresTo(PrintWriter(System.out))
    println("${listener.summary.testsSucceededCount} tests of Kotlin passed")
    val summary = listener.summary
    val passed = summary.testsSucceededCount > 0 && summary.totalFailureCount == 0L
    exitProcess(if (passed) 0 else 1)
}
