/* Who makes a mutation. */
package io.kedge;

/**
 * Who makes a mutation, and when.
 *
 * @param user "" when it is not known
 * @param role "" when it is not known
 * @param client the client id
 * @param nowMs the mutation's own timestamp, in milliseconds since 1970; the same at each replay
 */
public record Caller(String user, String role, String client, long nowMs) {}
