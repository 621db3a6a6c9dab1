import type { SourceFile } from "./source.ts";

const docComment = /\/\*\*(?:[^*]|\*(?!\/))*\*\//g;

/**
 * Doc comments that document nothing: followed by another one, a closing bracket, a semicolon or an
 * import. A file's caption may stand at its top, or after the imports with a blank line behind it.
 */
export function danglingComments(file: SourceFile): readonly string[] {
  return [...file.text.matchAll(docComment)]
    .filter(({ 0: comment, index }) => {
      const before = file.text.slice(0, index);
      const after = file.text.slice(index + comment.length);
      if (/^\s*(?:[}\])]|;|$)/.test(after)) return true;
      if (/^[ \t]*\n[ \t]*\n/.test(after)) return !isCaption(before);
      return /^\s*\/\*\*/.test(after) || (before.trim() !== "" && /^\s*import\b/.test(after));
    })
    .map(({ index }) => `${file.path}:${file.text.slice(0, index).split("\n").length}`);
}

/** Whether only imports and exports of other files stand before. */
function isCaption(before: string): boolean {
  return (
    before.replace(/^(?:import|export)\s[^;]*? from "[^"]+";|^import "[^"]+";/gms, "").trim() === ""
  );
}

/** Code of an index.ts other than a caption and exports of other files. */
export function bodyOfIndex(file: SourceFile): string {
  return file.text
    .replace(docComment, "")
    .replace(/^export (?:type )?(?:\*(?: as \w+)?|\{[^}]*\}) from "[^"]+";$/gm, "")
    .trim();
}
