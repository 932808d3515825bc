<?php

// Operations of `/reports`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type GetSummaryReportsQuery from \Florin\Types
 * @phpstan-import-type ListSettlementsReportsQuery from \Florin\Types
 * @phpstan-import-type ListTransactionsReportsQuery from \Florin\Types
 * @phpstan-import-type ReportSettlement from \Florin\Types
 * @phpstan-import-type ReportSummary from \Florin\Types
 * @phpstan-import-type ReportTransaction from \Florin\Types
 */
final class Reports extends Resource
{
    /**
     * List settlements. Needs the scope `reports:read`.
     *
     * @param ListSettlementsReportsQuery $query
     * @return Pages<ReportSettlement>
     */
    public function listSettlements(array $query = []): Pages
    {
        return $this->pages(['/reports/settlements'], $query);
    }

    /**
     * Get totals. Needs the scope `reports:read`.
     *
     * @param GetSummaryReportsQuery $query
     * @return ReportSummary
     */
    public function getSummary(array $query = []): array
    {
        return $this->call('GET', ['/reports/summary'], query: $query);
    }

    /**
     * List transactions. Needs the scope `reports:read`.
     *
     * @param ListTransactionsReportsQuery $query
     * @return Pages<ReportTransaction>
     */
    public function listTransactions(array $query = []): Pages
    {
        return $this->pages(['/reports/transactions'], $query);
    }
}
