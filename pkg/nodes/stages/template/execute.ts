import { costOf } from "../cost.ts";
import { RenderFault } from "./fault.ts";
import type { Branch, Command, Operand, Part, Pipe } from "./nodes.ts";
import { fieldOf, isDict, isNil, isTruthy, maxTextLength, printed } from "./values.ts";

/**
 * A function of templates. Its arguments are evaluated before the call, except those of `and` and
 * `or`.
 */
export type TemplateFunction = (...values: readonly unknown[]) => unknown;
export type TemplateFunctions = Readonly<Record<string, TemplateFunction>>;

/**
 * Maximum cost of one rendering in steps: one for each executed part and command, and the cost of the values
 * that functions, conditions, loops and the output go through.
 */
const maxSteps = 200_000;
/** Number of variables that are skipped in one step. */
const variablesPerStep = 64;

type Flow = "break" | "continue" | undefined;

interface Variable {
  readonly name: string;
  value: unknown;
}

/** One rendering of a template. */
export class Execution {
  private readonly output: string[] = [];
  private length = 0;
  private steps = 0;
  private readonly variables: Variable[];

  constructor(
    private readonly functions: TemplateFunctions,
    data: unknown,
  ) {
    this.variables = [{ name: "", value: data }];
  }

  /** @throws RenderFault */
  render(parts: readonly Part[], data: unknown): string {
    this.list(parts, data);
    return this.output.join("");
  }

  private list(parts: readonly Part[], dot: unknown): Flow {
    for (const part of parts) {
      this.spend(1);
      const flow = this.part(part, dot);
      if (flow !== undefined) return flow;
    }
    return undefined;
  }

  private spend(steps: number): void {
    this.steps += steps;
    if (this.steps > maxSteps) throw new RenderFault(`more than ${maxSteps} steps`);
  }

  /** Counts going through values before it is done. */
  private walk(values: readonly unknown[]): void {
    for (const value of values) this.spend(costOf(value, maxSteps - this.steps));
  }

  private part(part: Part, dot: unknown): Flow {
    if (part.type === "break" || part.type === "continue") return part.type;
    if (part.type === "text") return void this.write(part.text);
    try {
      if (part.type === "action") return this.action(part.pipe, dot);
      return this.branch(part, dot);
    } catch (error) {
      if (!(error instanceof RenderFault) || error.message.startsWith("line ")) throw error;
      throw new RenderFault(`line ${part.line}: ${error.message}`);
    }
  }

  private action(pipe: Pipe, dot: unknown): undefined {
    const value = this.pipe(pipe, dot);
    this.bind(pipe, [value]);
    if (pipe.variables.length > 0) return;
    this.walk([value]);
    this.write(printed(value));
  }

  private write(text: string): void {
    this.length += text.length;
    if (this.length > maxTextLength)
      throw new RenderFault(`output is longer than ${maxTextLength}`);
    this.output.push(text);
  }

  private branch(branch: Branch, dot: unknown): Flow {
    const scope = this.variables.length;
    const value = this.pipe(branch.pipe, dot);
    this.walkMembers(value);
    const flow =
      branch.type === "range" ? this.range(branch, value, dot) : this.choose(branch, value, dot);
    this.variables.length = scope;
    return flow;
  }

  /** Counts the members of a value, without what they contain. */
  private walkMembers(value: unknown): void {
    if (Array.isArray(value)) this.spend(value.length);
    else if (isDict(value)) this.spend(Object.keys(value).length);
  }

  private choose({ type, pipe, body, otherwise }: Branch, value: unknown, dot: unknown): Flow {
    this.bind(pipe, [value]);
    if (!isTruthy(value)) return this.list(otherwise, dot);
    return this.list(body, type === "with" ? value : dot);
  }

  private range({ pipe, body, otherwise }: Branch, value: unknown, dot: unknown): Flow {
    const entries = entriesOf(value);
    this.spend(entries.length);
    const scope = this.variables.length;
    for (const [key, element] of entries) {
      this.bind(pipe, pipe.variables.length > 1 ? [key, element] : [element]);
      const flow = this.list(body, element);
      this.variables.length = scope;
      if (flow === "break") break;
    }
    return entries.length === 0 ? this.list(otherwise, dot) : undefined;
  }

  private bind({ variables, assigns }: Pipe, values: readonly unknown[]): void {
    for (const [at, name] of variables.entries()) {
      if (assigns) this.variable(name).value = values[at];
      else this.variables.push({ name, value: values[at] });
    }
  }

  private variable(name: string): Variable {
    const at = this.variables.findLastIndex((each) => each.name === name);
    this.spend((this.variables.length - at) / variablesPerStep);
    // The parser has checked that it is declared.
    return this.variables[at]!;
  }

  private pipe({ commands }: Pipe, dot: unknown): unknown {
    let value: unknown;
    for (const [at, command] of commands.entries()) {
      value = this.command(command, { dot, piped: at === 0 ? [] : [value] });
    }
    return value;
  }

  private command(
    { operands }: Command,
    { dot, piped }: { readonly dot: unknown; readonly piped: readonly unknown[] },
  ): unknown {
    this.spend(1);
    const [first, ...rest] = operands;
    if (first?.type !== "function") return this.operand(first!, dot);
    const { name } = first;
    if (name === "and" || name === "or") return this.shortCircuit(name, { rest, piped, dot });
    const args = [...rest.map((operand) => this.operand(operand, dot)), ...piped];
    return this.call(name, args);
  }

  /** `and` and `or` evaluate no arguments after the deciding one. */
  private shortCircuit(
    name: "and" | "or",
    {
      rest,
      piped,
      dot,
    }: {
      readonly rest: readonly Operand[];
      readonly piped: readonly unknown[];
      readonly dot: unknown;
    },
  ): unknown {
    if (rest.length + piped.length === 0) throw new RenderFault(`${name} takes an argument`);
    let value: unknown;
    for (const operand of rest) {
      value = this.operand(operand, dot);
      this.walkMembers(value);
      if (isTruthy(value) === (name === "or")) return value;
    }
    return piped.length > 0 ? piped[0] : value;
  }

  private call(name: string, args: readonly unknown[]): unknown {
    this.walk(args);
    const value = this.functions[name]!(...args);
    this.walk([value]);
    if (typeof value === "string" && value.length > maxTextLength) {
      throw new RenderFault(`${name} makes a text longer than ${maxTextLength}`);
    }
    return value;
  }

  private operand(operand: Operand, dot: unknown): unknown {
    if (operand.type === "constant") return operand.value;
    if (operand.type === "function") return this.call(operand.name, []);
    const { base, fields } = operand;
    let value = dot;
    if (base !== undefined) {
      value = "pipe" in base ? this.pipe(base.pipe, dot) : this.variable(base.variable).value;
    }
    this.spend(fields.length);
    for (const name of fields) value = fieldOf(value, name);
    return value;
  }
}

/**
 * Items that `range` iterates over: elements, entries in the order of their keys, or the integers
 * below a number.
 */
function entriesOf(value: unknown): readonly (readonly [unknown, unknown])[] {
  if (isNil(value)) return [];
  if (Array.isArray(value)) return value.map((element, index) => [index, element]);
  if (isDict(value)) {
    return Object.keys(value)
      .sort()
      .map((key) => [key, value[key]]);
  }
  const count = typeof value === "number" && Number.isInteger(value) ? value : -1;
  if (count < 0 || count > maxSteps)
    throw new RenderFault(`range can't iterate over ${printed(value)}`);
  return Array.from({ length: count }, (_, index) => [index, index]);
}
