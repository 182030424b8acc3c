// Events to begin with, in the order of their arrival: [time, x].

export const EXAMPLES = {
  disorder: {
    title: "Out of order, one too late", delay: 2,
    events: [[1, 2], [3, 5], [4, 1], [8, 7], [6, 3], [12, 8], [11, 2], [15, 9], [9, 4], [19, 6], [22, 5]],
  },
  bursts: {
    title: "Bursts with pauses", delay: 0,
    events: [[1, 3], [2, 6], [4, 2], [5, 7], [12, 5], [14, 8], [15, 1], [22, 4], [23, 9]],
  },
  rising: {
    title: "x never decreases", delay: 0,
    events: [[1, 0], [3, 2], [4, 3], [7, 5], [9, 6], [11, 9], [14, 11], [16, 12], [20, 16], [22, 18]],
  },
  ties: {
    title: "Several at one time", delay: 0,
    events: [[2, 1], [2, 4], [5, 6], [5, 2], [5, 8], [9, 3], [10, 7], [10, 5], [16, 2]],
  },
};

/** Which of them shows a kind of window best. */
export const BEST = { session: "bursts", delta: "rising" };
