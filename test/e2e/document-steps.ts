import { readFileSync } from "node:fs";

/** A fenced code block of a Markdown document. */
export interface CodeBlock {
  /** Text of the nearest heading above. */
  readonly heading: string;
  readonly language: string;
  /** Name of the file, which a comment in the first line gives: `// label.mjs`; "" = none. */
  readonly file: string;
  readonly text: string;
}

/** The code blocks of a Markdown document in their order. */
export function codeBlocks(document: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let heading = "";
  const pattern = /^#+ (.*)$|^```(\w+)\n([\s\S]*?)^```$/gm;
  for (const [, title, language, text = ""] of readFileSync(document, "utf8").matchAll(pattern)) {
    if (title !== undefined) heading = title;
    if (language === undefined) continue;
    const [, file = ""] = /^(?:\/\/|#) ([\w.]+\.[a-z]+)\n/.exec(text) ?? [];
    blocks.push({ heading, language, file, text });
  }
  return blocks;
}
