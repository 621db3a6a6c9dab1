/** Parses list, map and message literals. */
import type { Expression, FieldEntryNode, MapEntryNode } from "./ast.ts";
import { expectedElement, expectedEntry } from "./grammar.ts";
import type { ExpressionReader } from "./token-stream.ts";

/** Parses a list after `[`. */
export function parseList(parser: ExpressionReader, at: number): Expression {
  const elements: { value: Expression; optional: boolean }[] = [];
  while (!parser.isSymbol("]")) {
    if (elements.length === 0) {
      if (parser.take(",")) break;
      parser.expect(expectedElement);
    }
    const optional = parser.take("?");
    elements.push({ value: parser.expression(), optional });
    if (!parser.take(",")) break;
    if (isTrailing(parser)) {
      parser.match("]");
      return { kind: "list", at, elements };
    }
  }
  parser.match("]", elements.length === 0 ? "']'" : "{']', ','}");
  return { kind: "list", at, elements };
}

/** Whether the last comma was a trailing one. */
function isTrailing(parser: ExpressionReader): boolean {
  return !parser.isSymbol("?") && !parser.startsOperand(0);
}

/** Parses a map after `{`. */
export function parseMap(parser: ExpressionReader, at: number): Expression {
  const entries: MapEntryNode[] = [];
  while (!parser.isSymbol("}")) {
    if (entries.length === 0 && parser.take(",")) break;
    const optional = parser.take("?");
    if (entries.length === 0 && !optional && !parser.startsOperand(0)) misplacedEntry(parser);
    const key = parser.expression();
    const entryAt = parser.token.at;
    parser.match(":");
    entries.push({ at: entryAt, key, value: parser.expression(), optional });
    if (!parser.take(",")) break;
    if (isTrailing(parser)) {
      parser.match("}");
      return { kind: "map", at, entries };
    }
  }
  parser.match("}", entries.length === 0 ? "'}'" : "{'}', ','}");
  return { kind: "map", at, entries };
}

function misplacedEntry(parser: ExpressionReader): void {
  const { token } = parser;
  const extra = token.kind !== "end" && parser.startsOperand(1);
  const message = `input '${token.text}' expecting ${expectedEntry}`;
  if (!extra) parser.fail(`mismatched ${message}`);
  parser.syntaxError(`extraneous ${message}`);
  parser.advance();
}

/** Parses a message literal at the first token of its name, of which `dots` more tokens follow. */
export function parseStruct(parser: ExpressionReader, dots: number, rooted: boolean): Expression {
  let name = rooted ? "." : "";
  for (let count = 0; count <= dots; count++) name += parser.advance().text;
  const { at } = parser.advance();
  const fields: FieldEntryNode[] = [];
  let firstAt: number | undefined;
  while (!parser.isSymbol("}")) {
    if (fields.length === 0 && parser.take(",")) break;
    firstAt ??= parser.token.at;
    const optional = parser.take("?");
    const { token } = parser;
    if (token.kind !== "identifier" && token.kind !== "escaped") {
      const expected = optional
        ? "{IDENTIFIER, ESC_IDENTIFIER}"
        : "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}";
      parser.fail(`mismatched input '${token.text}' expecting ${expected}`);
    }
    parser.advance();
    // cel-go reports it at the first initializer.
    if (token.kind === "escaped") parser.report(firstAt, "unsupported syntax: '`'");
    const field = token.text;
    const entryAt = parser.token.at;
    parser.match(":");
    fields.push({ at: entryAt, field, value: parser.expression(), optional });
    if (!parser.take(",")) break;
  }
  parser.match("}", fields.length === 0 ? "'}'" : "{'}', ','}");
  return { kind: "struct", at, name, fields };
}
