/** What happened, in a kubelet's words. */
export interface KubeletEvent {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}
