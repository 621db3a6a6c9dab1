/** Type, reason and message of an Event, as in the kubelet. */
export interface KubeletEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}
