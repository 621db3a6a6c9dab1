/** Selection of the pods that have not ended. */
export const livePods = { fieldSelector: "status.phase!=Succeeded,status.phase!=Failed" } as const;
