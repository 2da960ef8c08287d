/* The mark of classes that Android does not load. */
package io.kedge;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** Marks a class that Android never loads: it may use all of Java. The build checks the others. */
@Retention(RetentionPolicy.CLASS)
@interface DesktopOnly {}
