/**
 * Replaces `$(NAME)` in commands, arguments and values of environment variables. `$$` is a dollar
 * sign, and names that are not set stay as they are.
 */
export function expandReferences(text: string, get: (name: string) => string | undefined): string {
  if (!text.includes("$")) return text;
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (all, name?: string) =>
    name === undefined ? "$" : (get(name) ?? all),
  );
}
