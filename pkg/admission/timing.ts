import type { Admit } from "#registry";
import type { Instruments, MetricDefinition } from "#request";

/** Steps that change objects, and steps that only refuse them. */
export type StepType = "admit" | "validate";

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
const labels = ["type", "operation", "rejected"];

const stepSeconds: MetricDefinition = {
  name: "apiserver_admission_step_admission_duration_seconds",
  kind: "histogram",
  help: "Time that all of admission took for one write.",
  labels,
  buckets,
};
const pluginSeconds: MetricDefinition = {
  name: "apiserver_admission_controller_admission_duration_seconds",
  kind: "histogram",
  help: "Time that a plugin of admission took for one write.",
  labels: ["name", ...labels],
  buckets,
};

/** To be defined to the instruments. */
export const admissionMetrics: readonly MetricDefinition[] = [stepSeconds, pluginSeconds];

/** All of the steps as one, timed. */
export function timedStep(
  type: StepType,
  steps: readonly Admit[],
  instruments: Instruments,
): Admit {
  const all: Admit = async (attributes) => {
    const warnings: string[] = [];
    for (const step of steps) warnings.push(...(await step(attributes)));
    return warnings;
  };
  return timed(all, (rejected, operation, seconds) =>
    instruments.observe(stepSeconds.name, { type, operation, rejected }, seconds),
  );
}

/** The step of one plugin, timed. */
export function timedPlugin(
  step: Admit,
  { name, type }: { readonly name: string; readonly type: StepType },
  instruments: Instruments,
): Admit {
  return timed(step, (rejected, operation, seconds) =>
    instruments.observe(pluginSeconds.name, { name, type, operation, rejected }, seconds),
  );
}

function timed(
  step: Admit,
  tell: (rejected: "true" | "false", operation: string, seconds: number) => void,
): Admit {
  return async (attributes) => {
    const started = performance.now();
    let rejected: "true" | "false" = "true";
    try {
      const warnings = await step(attributes);
      rejected = "false";
      return warnings;
    } finally {
      const seconds = (performance.now() - started) / 1000;
      tell(rejected, attributes.operation.toUpperCase(), seconds);
    }
  };
}
