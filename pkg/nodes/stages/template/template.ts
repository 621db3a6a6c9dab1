import { Execution, type TemplateFunctions } from "./execute.ts";
import { TemplateFault } from "./fault.ts";
import { goFunctions } from "./go-functions.ts";
import type { Part } from "./nodes.ts";
import { parseTemplate } from "./parser.ts";
import { sprigFunctions } from "./sprig-functions.ts";

/** Maximum length of a template. */
const maxTemplateLength = 256 * 1024;
const commonNames = new Set([...Object.keys(goFunctions), ...Object.keys(sprigFunctions)]);

/**
 * A template in the language of Go's `text/template`, without `define`, `template`, `block` and
 * methods, with functions of the Sprig library. Its data are JSON. Parsing and rendering are
 * limited.
 */
export class Template {
  private readonly parts: readonly Part[];

  /**
   * @param names functions in addition to those of Go and Sprig, which are passed to `render`
   * @throws TemplateFault
   */
  constructor(text: string, names: Iterable<string> = []) {
    if (text.length > maxTemplateLength) throw new TemplateFault("template is too long");
    this.parts = parseTemplate(text.trim(), new Set([...commonNames, ...names]));
  }

  /** @throws RenderFault */
  render(data: unknown, functions: TemplateFunctions = {}): string {
    const all = { ...goFunctions, ...sprigFunctions, ...functions };
    return new Execution(all, data).render(this.parts, data);
  }
}
