<?php

// Operations of `/transactions`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type GetTransactionsQuery from \Florin\Types
 * @phpstan-import-type TransactionExplanation from \Florin\Types
 */
final class Transactions extends Resource
{
    /**
     * Get what became of a transaction. Needs the scope `checkouts:read`.
     *
     * @param GetTransactionsQuery $query
     * @return TransactionExplanation
     */
    public function get(string $txHash, array $query = []): array
    {
        return $this->call('GET', ['/transactions/{}', $txHash], query: $query);
    }
}
