/** Rewrites the links of HTML pages, which are tokenized as by golang.org/x/net/html. */

/** Attributes with URLs, by element: those of apimachinery's proxy transport. */
const linkAttributes: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    a: ["href"],
    applet: ["codebase"],
    area: ["href"],
    audio: ["src"],
    base: ["href"],
    blockquote: ["cite"],
    body: ["background"],
    button: ["formaction"],
    command: ["icon"],
    del: ["cite"],
    embed: ["src"],
    form: ["action"],
    frame: ["longdesc", "src"],
    head: ["profile"],
    html: ["manifest"],
    iframe: ["longdesc", "src"],
    img: ["longdesc", "src", "usemap"],
    input: ["src", "usemap", "formaction"],
    ins: ["cite"],
    link: ["href"],
    object: ["classid", "codebase", "data", "usemap"],
    q: ["cite"],
    script: ["src"],
    source: ["src"],
    video: ["poster", "src"],
  }),
);

/** Elements whose content is text up to their end tag. */
const rawTextElements = new Set([
  "iframe",
  "noembed",
  "noframes",
  "noscript",
  "plaintext",
  "script",
  "style",
  "textarea",
  "title",
  "xmp",
]);

interface Attribute {
  readonly key: string;
  /** As written. */
  readonly value: string;
}

interface StartTag {
  readonly name: string;
  readonly attributes: readonly Attribute[];
  readonly isSelfClosing: boolean;
}

/**
 * Rewrites the links in start tags, which are normalized: lower-case names, quoted values. Other text is
 * unchanged; a tag without an end is dropped.
 * @param rewrite returns the new URL, or undefined to keep the link
 */
export function rewriteLinks(html: string, rewrite: (url: string) => string | undefined): string {
  const output: string[] = [];
  let at = 0;
  while (at < html.length) {
    const open = html.indexOf("<", at);
    const next = open < 0 ? html.length : open;
    output.push(html.slice(at, next));
    at = next;
    if (open < 0) break;
    if (!/[A-Za-z]/.test(html[open + 1] ?? "")) {
      const end = endOfOther(html, open);
      output.push(html.slice(at, end));
      if (end < 0) break;
      at = end;
      continue;
    }
    const scanner = new TagScanner(html, open + 1);
    const tag = scanner.startTag();
    if (tag === undefined) break;
    output.push(textOf(tag, rewrite));
    at = rawTextElements.has(tag.name) ? endOfRawText(html, scanner.at, tag.name) : scanner.at;
    output.push(html.slice(scanner.at, at));
  }
  return output.join("");
}

/** End of an end tag, comment, declaration or `<` in text; the length of the page if it has no end. */
function endOfOther(html: string, open: number): number {
  const rest = html.slice(open + 1, open + 4);
  if (rest.startsWith("/")) {
    if (!/[A-Za-z]/.test(rest[1] ?? "")) return after(html, ">", open + 2);
    const scanner = new TagScanner(html, open + 2);
    return scanner.startTag() === undefined ? html.length : scanner.at;
  }
  if (rest === "!--") {
    const comment = /-*>|[^]*?--!?>/y;
    comment.lastIndex = open + 4;
    return comment.test(html) ? comment.lastIndex : html.length;
  }
  return /^[!?]/.test(rest) ? after(html, ">", open + 2) : open + 1;
}

function after(html: string, text: string, from: number): number {
  const found = html.indexOf(text, from);
  return found < 0 ? html.length : found + text.length;
}

/** Position of the end tag of an element with raw text. */
function endOfRawText(html: string, from: number, element: string): number {
  if (element === "plaintext") return html.length;
  if (element === "script") return endOfScript(html, from);
  const end = new RegExp(`</${element}[ \\n\\r\\t\\f/>]`, "gi");
  end.lastIndex = from;
  return end.exec(html)?.index ?? html.length;
}

/** Position of the end tag of a script: not within `<!-- <script>…</script>`. */
function endOfScript(html: string, from: number): number {
  const marks = /<!--|-->|<(\/?)script[ \n\r\t\f/>]/gi;
  marks.lastIndex = from;
  let state: "plain" | "escaped" | "double escaped" = "plain";
  for (let mark = marks.exec(html); mark !== null; mark = marks.exec(html)) {
    const [text, slash] = mark;
    if (text === "<!--") state = state === "plain" ? "escaped" : state;
    else if (text === "-->") state = "plain";
    else if (slash === "") state = state === "escaped" ? "double escaped" : state;
    else if (state === "double escaped") state = "escaped";
    else return mark.index;
  }
  return html.length;
}

/** Reads one tag; `at` is the position after what has been read. */
class TagScanner {
  constructor(
    private readonly html: string,
    /** Of the first letter of the name. */
    public at: number,
  ) {}

  /** Undefined if the page ends within the tag. */
  startTag(): StartTag | undefined {
    const name = this.read(/[^ \n\r\t\f/>]*/y).toLowerCase();
    const attributes: Attribute[] = [];
    /** End of the last attribute's value. */
    let valueEnd = -1;
    for (;;) {
      this.read(/[ \n\r\t\f]*/y);
      if (this.at >= this.html.length) return undefined;
      if (this.html[this.at] === ">") break;
      const key = this.read(/=?[^ \n\r\t\f/>=]*/y).toLowerCase();
      const value = this.value();
      if (value === undefined) return undefined;
      if (key === "") continue;
      attributes.push({ key, value: value.text });
      valueEnd = value.end;
    }
    const isSelfClosing = this.html[this.at - 1] === "/" && valueEnd !== this.at;
    this.at += 1;
    return { name, attributes, isSelfClosing };
  }

  /** The value of an attribute, "" without one; undefined if the page ends within it. */
  private value(): { readonly text: string; readonly end: number } | undefined {
    const none = { text: "", end: -1 };
    this.read(/[ \n\r\t\f]*/y);
    const next = this.html[this.at];
    if (next === "/") this.at += 1;
    if (next !== "=") return none;
    this.at += 1;
    this.read(/[ \n\r\t\f]*/y);
    const quote = this.html[this.at];
    if (quote !== '"' && quote !== "'") {
      const text = this.read(/[^ \n\r\t\f>]*/y);
      return { text, end: this.at };
    }
    const close = this.html.indexOf(quote, this.at + 1);
    if (close < 0) return undefined;
    const text = this.html.slice(this.at + 1, close);
    this.at = close + 1;
    return { text, end: close };
  }

  private read(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const [text = ""] = pattern.exec(this.html) ?? [];
    this.at += text.length;
    return text;
  }
}

function textOf(
  { name, attributes, isSelfClosing }: StartTag,
  rewrite: (url: string) => string | undefined,
): string {
  const links = linkAttributes.get(name) ?? [];
  const all = attributes.map(({ key, value }) => {
    const pieces = piecesOf(value.replace(/\r\n?/g, "\n"));
    const isPlain = pieces.every((piece) => typeof piece === "string");
    const url = links.includes(key) && isPlain ? rewrite(pieces.join("")) : undefined;
    const text = (url === undefined ? pieces : [url]).map(escaped).join("");
    return ` ${key}="${text}"`;
  });
  return `<${name}${all.join("")}${isSelfClosing ? "/" : ""}>`;
}

/** A named character reference that is not decoded here, such as `&eacute;`. */
interface Reference {
  readonly reference: string;
}

/** Decodes the character references of an attribute's value. */
function piecesOf(value: string): readonly (string | Reference)[] {
  if (!value.includes("&")) return [value];
  const parts = value.split(
    /(&(?:#[xX][0-9A-Fa-f]+;?|#[0-9]+;?|[A-Za-z][A-Za-z0-9]*;|(?:amp|lt|gt|quot)(?![A-Za-z0-9=])))/i,
  );
  return parts.map((part, index) => (index % 2 === 0 ? part : characterOf(part)));
}

const characters: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  AMP: "&",
  LT: "<",
  GT: ">",
  QUOT: '"',
};

function characterOf(reference: string): string | Reference {
  const name = reference.slice(1).replace(/;$/, "");
  if (!name.startsWith("#")) return characters[name] ?? { reference };
  const isHex = /^#x/i.test(name);
  const code = Number.parseInt(name.slice(isHex ? 2 : 1), isHex ? 16 : 10);
  const isWindows1252 = code >= 0x80 && code <= 0x9f;
  if (isWindows1252) return new TextDecoder("windows-1252").decode(Uint8Array.of(code));
  const isCharacter = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : "\ufffd";
}

function escaped(piece: string | Reference): string {
  if (typeof piece !== "string") return piece.reference;
  return piece
    .replaceAll("&", "&amp;")
    .replaceAll("'", "&#39;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&#34;");
}
