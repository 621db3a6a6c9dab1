import {
  required,
  bool,
  type Infer,
  int32,
  int64,
  list,
  named,
  pointer,
  Path,
  value,
  type Problems,
  string,
  structs,
} from "#schema";
import { type HookContext, kind, kubernetes, objectMeta, time } from "#meta";
import { goSelector } from "../go/go-shape.ts";
import {
  checkNotNegative,
  containersColumn,
  imagesColumn,
  selectorCell,
  selectorColumn,
  statusSubresource,
} from "../apps/workload.ts";
import { defaultPodTemplate } from "../core/pod/spec/pod-defaults.ts";
import { dropGatedPodFields } from "../core/pod/spec/pod-gates.ts";
import { nameWarnings } from "../core/pod/pod-warnings.ts";
import { containerCells } from "../core/pod-template.ts";
import { objectReference } from "../core/shared/references.ts";
import { ageColumn, ageOf, column, nameColumn, nameOf, timeSince } from "../printing.ts";
import { splitByStatusSubresource, unsupported } from "../strategy.ts";
import { isTimeZone, scheduleFault } from "./cron-schedule.ts";
import { jobSpecWarnings } from "./job-warnings.ts";
import { checkJobSpec } from "./job-rules.ts";
import { jobTemplateSpec } from "./job-structs.ts";

const v1 = structs("api/batch/v1");

const cronJobSpec = v1("CronJobSpec", "Desired state of a CronJob.", {
  schedule: required(
    1,
    string,
    "Schedule in cron format, for example `0 4 * * MON-FRI`, or a macro such as `@daily`. TZ " +
      "and CRON_TZ are not allowed: use timeZone.",
  ),
  timeZone: pointer(
    8,
    string,
    "Time zone of the schedule: a name of the tz database, for example Europe/Berlin. Defaults " +
      "to the time zone of kube-controller-manager.",
  ),
  startingDeadlineSeconds: pointer(
    2,
    int64,
    "Seconds after the scheduled time within which a Job may still be started; a later run is " +
      "missed. Values below 10 can prevent Jobs from ever being started. No deadline if absent.",
  ),
  concurrencyPolicy: value(
    3,
    named("v1.ConcurrencyPolicy", "Allow", "Forbid", "Replace"),
    "Treatment of concurrent executions of a Job. One of Allow (run concurrently), Forbid " +
      "(skip the new run if the previous Job is still running), Replace (cancel the running " +
      "Job). Defaults to Allow.",
    { default: "Allow" },
  ),
  suspend: pointer(
    4,
    bool,
    "Whether to suspend subsequent executions. Jobs that have already started continue. " +
      "Defaults to false.",
    { default: false },
  ),
  jobTemplate: required(5, jobTemplateSpec, "Template of the Jobs to create."),
  successfulJobsHistoryLimit: pointer(
    6,
    int32,
    "Number of successfully finished Jobs to keep. Defaults to 3.",
    {
      default: 3,
    },
  ),
  failedJobsHistoryLimit: pointer(7, int32, "Number of failed Jobs to keep. Defaults to 1.", {
    default: 1,
  }),
});

const cronJobStatus = v1("CronJobStatus", "Observed state of a CronJob.", {
  active: value(1, list(objectReference), "Jobs that are currently running.", {
    listType: "atomic",
  }),
  lastScheduleTime: pointer(4, time, "Time for which a Job was last successfully scheduled."),
  lastSuccessfulTime: pointer(
    5,
    time,
    "Time at which a Job of this schedule last completed successfully.",
  ),
});

const cronJobV1 = v1("CronJob", "CronJob creates Jobs on a recurring schedule.", {
  metadata: value(
    1,
    objectMeta,
    "Standard object metadata. The name is limited to 52 characters because Jobs append a " +
      "suffix to it.",
  ),
  spec: value(2, cronJobSpec, "Schedule, concurrency policy and Job template."),
  status: value(
    3,
    cronJobStatus,
    "Running Jobs and last run reported by the CronJob controller. Read-only.",
  ),
});

type CronJob = Infer<typeof cronJobV1>;
type Spec = CronJob["spec"];

/** Maximum length of the name: Job names append 11 characters, and label values hold 63. */
const maxNameLength = 52;
const path = Path.of("spec");
const jobPath = path.child("jobTemplate", "spec");

/** Warning about a time zone in the schedule of an update; the path is Kubernetes' spelling. */
const scheduleZoneMessage =
  "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see " +
  `https://${kubernetes.label}/docs/concepts/workloads/controllers/cron-jobs/ for more details`;

const hasZone = (schedule: string): boolean => schedule.includes("TZ");

function checkSpec(
  spec: Spec,
  old: Spec | undefined,
  { problems, context }: { readonly problems: Problems; readonly context: HookContext },
): void {
  const mayHaveZone = old !== undefined && hasZone(old.schedule);
  checkSchedule(spec, mayHaveZone, problems);
  const { startingDeadlineSeconds, successfulJobsHistoryLimit, failedJobsHistoryLimit } = spec;
  checkNotNegative({ startingDeadlineSeconds }, path, problems);
  if (old === undefined || old.timeZone !== spec.timeZone) checkTimeZone(spec, problems);
  const { concurrencyPolicy: policy = "", jobTemplate } = spec;
  const supported = ["Allow", "Forbid", "Replace"];
  if (!supported.includes(policy)) {
    unsupported(problems, path.child("concurrencyPolicy"), { value: policy, supported });
  }
  const specPath = path.child("jobTemplate", "spec");
  checkJobSpec(jobTemplate.spec, { path: specPath, problems }, context);
  const { selector, manualSelector } = jobTemplate.spec;
  if (selector !== undefined) {
    const detail = "`selector` will be auto-generated";
    problems.invalid(specPath.child("selector"), goSelector(selector), detail);
  }
  if (manualSelector) {
    const only = { value: true, supported: ["nil", "false"] };
    unsupported(problems, specPath.child("manualSelector"), only);
  }
  checkNotNegative({ successfulJobsHistoryLimit, failedJobsHistoryLimit }, path, problems);
}

function checkSchedule(spec: Spec, mayHaveZone: boolean, problems: Problems): void {
  const { schedule, timeZone } = spec;
  const schedulePath = path.child("schedule");
  if (schedule === "") return problems.required(schedulePath);
  const fault = scheduleFault(schedule);
  if (fault !== undefined) problems.invalid(schedulePath, schedule, fault);
  if (!hasZone(schedule)) return;
  if (!mayHaveZone) {
    const detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
    problems.invalid(schedulePath, schedule, detail);
  } else if (timeZone !== undefined) {
    const detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
    problems.invalid(schedulePath, schedule, detail);
  }
}

function checkTimeZone({ timeZone: zone }: Spec, problems: Problems): void {
  if (zone === undefined) return;
  const timeZonePath = path.child("timeZone");
  if (zone === "") {
    problems.invalid(timeZonePath, zone, "timeZone must be nil or non-empty string");
    return;
  }
  if (zone.toLowerCase() === "local") {
    const list = "https://www.iana.org/time-zones";
    const detail = `timeZone must be an explicit time zone as defined in ${list}`;
    problems.invalid(timeZonePath, zone, detail);
  }
  if (!isTimeZone(zone)) problems.invalid(timeZonePath, zone, `unknown time zone ${zone}`);
}

const divided = splitByStatusSubresource(() => ({}));
const podSpecOf = ({ spec }: CronJob) => spec.jobTemplate.spec.template.spec;

export const cronJob = kind(cronJobV1, {
  group: "batch",
  kind: "CronJob",
  plural: "cronjobs",
  shortNames: ["cj"],
  categories: ["all"],
  scope: "Namespaced",
  versions: [{ version: "v1", struct: cronJobV1, onByDefault: true, convert: "hub" }],
  subresources: [statusSubresource],
  rules: { metadataOnUpdate: { status: [] }, generation: true },
  hooks: {
    default: (object, { gate }) => defaultPodTemplate(object.spec.jobTemplate.spec.template, gate),
    prepareCreate: (object, context) => {
      divided.prepareCreate(object, context);
      dropGatedPodFields(podSpecOf(object), undefined, context.gate);
    },
    prepareUpdate: (object, old, context) => {
      divided.prepareUpdate(object, old, context);
      dropGatedPodFields(podSpecOf(object), podSpecOf(old), context.gate);
    },
    validate: (object, problems, context) => {
      checkSpec(object.spec, undefined, { problems, context });
      const { name = "" } = object.metadata;
      if (name.length <= maxNameLength) return;
      const detail = `must be no more than ${maxNameLength} characters`;
      problems.invalid(Path.of("metadata.name"), name, detail);
    },
    validateUpdate: (object, old, problems, context) => {
      if (context.subresource === "status") return;
      checkSpec(object.spec, old.spec, { problems, context });
    },
    warnings: (object, old, context) => [
      ...(old === undefined ? nameWarnings(object) : []),
      ...jobSpecWarnings(object.spec.jobTemplate.spec, jobPath, { object, old, context }),
      ...(old !== undefined && context.subresource === "" && hasZone(object.spec.schedule)
        ? [scheduleZoneMessage]
        : []),
    ],
  },
  columns: [
    nameColumn,
    column("Schedule", "Schedule in cron format."),
    column("Timezone", "Time zone of the schedule."),
    column("Suspend", "Whether the creation of Jobs is suspended.", { type: "boolean" }),
    column("Active", "Number of running Jobs.", { type: "integer" }),
    column("Last Schedule", "Time since a Job was last scheduled."),
    ageColumn,
    containersColumn,
    imagesColumn,
    selectorColumn,
  ],
  row: (object, context) => {
    const { spec, status } = object;
    const { lastScheduleTime: last } = status;
    return [
      nameOf(object),
      spec.schedule,
      spec.timeZone ?? "<none>",
      spec.suspend === undefined ? "<unset>" : spec.suspend ? "True" : "False",
      status.active?.length ?? 0,
      last ? timeSince(last, context.now) : "<none>",
      ageOf(object, context),
      ...containerCells(spec.jobTemplate.spec.template),
      selectorCell(spec.jobTemplate.spec.selector),
    ];
  },
});
