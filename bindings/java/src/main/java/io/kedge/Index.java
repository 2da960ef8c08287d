/* A declared index. */
package io.kedge;

import java.util.List;

/**
 * A declared index.
 *
 * @param name of the index
 * @param collection that it covers
 * @param paths of the members
 */
public record Index(String name, String collection, List<String> paths) {}
