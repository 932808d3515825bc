<?php

declare(strict_types=1);

namespace Florin;

/**
 * All objects of a list: `foreach ($florin->checkouts->list() as $checkout)`. `limit` is the size of a page, 100 if it was not given.
 *
 * Nothing is asked before it is iterated. What is created meanwhile neither repeats nor hides an object.
 *
 * @template T
 * @implements \IteratorAggregate<int, T>
 */
final class Pages implements \IteratorAggregate
{
    /** @param array<string, mixed> $query */
    public function __construct(private readonly \Closure $ask, private readonly array $query)
    {
    }

    /**
     * One page as the API answers it: `total` is absent with `include_total` false.
     *
     * @return array<string, mixed>
     */
    public function page(): array
    {
        return ($this->ask)($this->query);
    }

    /**
     * Each object; the next page is asked for when the last one is used up.
     *
     * @return \Generator<int, T>
     * @throws FlorinError
     */
    public function getIterator(): \Generator
    {
        $query = $this->query + ['limit' => 100, 'include_total' => false];
        for (;;) {
            $page = ($this->ask)($query);
            $found = $page['data'] ?? null;
            if (!is_array($found)) {
                throw new NoAnswerError('The answer is no page.');
            }
            foreach ($found as $each) {
                yield $each;
            }
            if (count($found) < ($page['limit'] ?? 1)) {
                return;
            }
            $last = $found === [] ? null : ($found[array_key_last($found)]['id'] ?? null);
            if (!is_string($last) || $last === ($query['starting_after'] ?? null)) {
                throw new NoAnswerError('The page does not say how to go on.');
            }
            unset($query['offset']);
            $query['starting_after'] = $last;
        }
    }
}
