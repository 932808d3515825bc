<?php

// Operations of `/terminals`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type ListSalesTerminalsQuery from \Florin\Types
 * @phpstan-import-type ListTerminalsQuery from \Florin\Types
 * @phpstan-import-type NewTerminal from \Florin\Types
 * @phpstan-import-type Terminal from \Florin\Types
 * @phpstan-import-type TerminalPairing from \Florin\Types
 * @phpstan-import-type TerminalSale from \Florin\Types
 */
final class Terminals extends Resource
{
    /**
     * List terminals. Needs the scope `terminals:read`.
     *
     * @param ListTerminalsQuery $query
     * @return Pages<Terminal>
     */
    public function list(array $query = []): Pages
    {
        return $this->pages(['/terminals'], $query);
    }

    /**
     * Create a terminal. Needs the scope `terminals:write`.
     *
     * @param NewTerminal $body
     * @return Terminal
     */
    public function create(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/terminals'], body: $body, key: $idempotencyKey, takesKey: true);
    }

    /**
     * Get a terminal. Needs the scope `terminals:read`.
     *
     * @return Terminal
     */
    public function get(string $terminalId): array
    {
        return $this->call('GET', ['/terminals/{}', $terminalId]);
    }

    /**
     * Make a code that pairs a device. Needs the scope `terminals:write`.
     *
     * @return TerminalPairing
     */
    public function pair(string $terminalId, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/terminals/{}/pair', $terminalId], key: $idempotencyKey, takesKey: true);
    }

    /**
     * Revoke a terminal. Needs the scope `terminals:write`.
     *
     * @return Terminal
     */
    public function revoke(string $terminalId, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/terminals/{}/revoke', $terminalId], key: $idempotencyKey, takesKey: true);
    }

    /**
     * List a terminal's sales. Needs the scope `terminals:read`.
     *
     * @param ListSalesTerminalsQuery $query
     * @return Pages<TerminalSale>
     */
    public function listSales(string $terminalId, array $query = []): Pages
    {
        return $this->pages(['/terminals/{}/sales', $terminalId], $query);
    }
}
