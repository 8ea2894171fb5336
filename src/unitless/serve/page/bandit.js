// What the page shows of a bandit: its tiles, the lines of its chart, and its actions.

import { bar, make, table } from "./elements.js";
import { count, number, percent, rate, value } from "./numbers.js";
import { showLag, tile } from "./tiles.js";

const ESTIMATED = "Estimated from the same events: the reward that was expected, and for the chosen action its error divided by its probability";

/** Shows the tiles: `now` is the state of the stream, `metrics` the last answer of /metrics (or null). */
export function showBanditTiles(model, history, now, metrics) {
  const bandit = now.bandit ?? metrics?.bandit ?? {};
  const learned = "Rewards that the bandit has learned, with default rewards of events that expired.";
  tile("examples", "Rewards learned", count(bandit.rewards ?? model.examples), `${rate(history.rate("learned"))} per second`, learned);
  tile("score", "Average reward", number(bandit.mean_reward), `of ${count(bandit.decisions)} decisions`, "Mean of all rewards so far, those of exploration included. Larger is better.", "main");
  const best = bandit.best_action == null ? "too few rewards yet" : `always ${value(bandit.best_action)}`;
  tile("baseline", "Best single action", number(bandit.best_constant), best, `What the best single action would have earned, without a look at the context. ${ESTIMATED}. A useful bandit earns more.`);
  tile("skill", "Random actions", number(bandit.random), "drawn uniformly", `What random actions would have earned. ${ESTIMATED}.`);
  const pending = "Decisions whose reward has not arrived yet. After the time limit, if there is one, an event expires: then the default reward is learned, or nothing.";
  tile("waiting", "Pending rewards", count(bandit.pending ?? model.waiting), `${count(bandit.expired)} expired`, pending);
  showLag(now.log ?? metrics?.log ?? {});
}

/** The lines of the chart of rewards: those of each moment, and the values of all policies up to then. */
export function rewardLines(name, history, range, color) {
  const line = (text, k, read) => ({ name: text, color: color(k), thin: true, dashed: k !== 0, values: history.column(range, read) });
  return [
    { name: "recent", color: color(0), values: history.smooth(range, (moment) => moment.by_model?.[name]) },
    { ...line("all rewards", 0, (moment) => moment.total_loss), dashed: true },
    line("best single action", 1, (moment) => moment.best_constant),
    line("random actions", 2, (moment) => moment.random),
  ];
}

/** The actions by how often they were chosen. */
export function showActions(box, bandit) {
  if (!bandit?.actions?.length) {
    box.replaceChildren(make("p", { class: "quiet" }, "No decision has been made yet."));
    return;
  }
  const columns = [{ title: "Action" }, { title: "Share of decisions", kind: "bars" }, { title: "Share", number: true }, { title: "Decisions", number: true }, { title: "Value alone", number: true }];
  const shown = bandit.actions.slice(0, 30);
  const rows = shown.map((one) => [value(one.action), bar(one.share), percent(one.share), count(one.decisions), number(one.value)]);
  const more = bandit.actions.length - shown.length;
  const about = `Value alone: the estimated mean reward if this action were always chosen${more ? `. ${count(more)} more actions are not shown` : ""}.`;
  box.replaceChildren(table("Actions", columns, rows), make("p", { class: "quiet" }, about));
}
