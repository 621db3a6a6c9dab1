/**
 * Problems, and paths of unknown fields, that are told of one object. Nobody reads more, and a body
 * of a few bytes per problem would make an answer of many megabytes.
 */
export const MOST_TOLD = 1_000;
