// Lists that are read page by page.

import { NoAnswerError } from "./errors.js";

type Query = Record<string, unknown>;

/**
 * All objects of a list: `for await (const checkout of florin.checkouts.list())`. `limit` is the size of a page, 100 if it was not
 * given. Nothing is asked before it is iterated. What is created meanwhile neither repeats nor hides an object.
 */
export class Pages<T> implements AsyncIterable<T> {
  readonly #ask: (query: Query) => Promise<any>;
  readonly #query: Query;

  constructor(ask: (query: Query) => Promise<any>, query: Query) {
    this.#ask = ask;
    this.#query = { ...query };
  }

  /** One page as the API answers it: `total` is absent with `include_total: false`. */
  page(): Promise<{ data: T[]; limit: number; offset: number; total?: number }> {
    return this.#ask(this.#query);
  }

  /** Each object; the next page is asked for when the last one is used up. Throws FlorinError. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    let query: Query = { limit: 100, include_total: false, ...this.#query };
    for (;;) {
      const page = await this.#ask(query);
      const found = page.data;
      if (!Array.isArray(found)) throw new NoAnswerError("The answer is no page.");
      yield* found;
      if (found.length < (page.limit ?? 1)) return;
      const last = found.at(-1)?.id;
      if (!last || last === query.starting_after) throw new NoAnswerError("The page does not say how to go on.");
      query = { ...query, offset: undefined, starting_after: last };
    }
  }
}
