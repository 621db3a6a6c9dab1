/**
 * Expands `$(NAME)` in commands, arguments and environment variables, by Kubernetes' rules: `$$` escapes the
 * dollar sign, unset names are not replaced.
 */
export function expandReferences(text: string, get: (name: string) => string | undefined): string {
  if (!text.includes("$")) return text;
  return text.replace(/\$(?:\$|\(([^)]*)\))/g, (all, name?: string) =>
    name === undefined ? "$" : (get(name) ?? all),
  );
}
