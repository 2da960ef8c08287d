/* One changed key. */
package io.kedge;

/**
 * One key that has another value. A value is null where there is no item.
 *
 * @param collection "" for the project record
 * @param id of the item
 * @param oldJson the value that was told last
 * @param newJson the value of now
 * @param source who has made the change
 */
public record Change(String collection, String id, String oldJson, String newJson, Source source) {}
