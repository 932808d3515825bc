<?php

// Operations of `/wallets`. Written by script/clients.

declare(strict_types=1);

namespace Florin\Operations;

use Florin\Pages;
use Florin\Resource;

/**
 * @phpstan-import-type ListTransactionsWalletsQuery from \Florin\Types
 * @phpstan-import-type ListWalletsQuery from \Florin\Types
 * @phpstan-import-type Movement from \Florin\Types
 * @phpstan-import-type NewWatchedWallet from \Florin\Types
 * @phpstan-import-type PatchedWatchedWalletChanges from \Florin\Types
 * @phpstan-import-type WatchedWallet from \Florin\Types
 */
final class Wallets extends Resource
{
    /**
     * List watched wallets. Needs the scope `wallets:read`.
     *
     * @param ListWalletsQuery $query
     * @return Pages<WatchedWallet>
     */
    public function list(array $query = []): Pages
    {
        return $this->pages(['/wallets'], $query);
    }

    /**
     * Watch a wallet. Needs the scope `wallets:write`.
     *
     * @param NewWatchedWallet $body
     * @return WatchedWallet
     */
    public function watch(array $body, ?string $idempotencyKey = null): array
    {
        return $this->call('POST', ['/wallets'], body: $body, key: $idempotencyKey, takesKey: true);
    }

    /**
     * Get a watched wallet. Needs the scope `wallets:read`.
     *
     * @return WatchedWallet
     */
    public function get(string $walletId): array
    {
        return $this->call('GET', ['/wallets/{}', $walletId]);
    }

    /**
     * Update a watched wallet. Needs the scope `wallets:write`.
     *
     * @param PatchedWatchedWalletChanges $body
     * @return WatchedWallet
     */
    public function change(string $walletId, array $body = []): array
    {
        return $this->call('PATCH', ['/wallets/{}', $walletId], body: $body);
    }

    /** Stop watching a wallet. Needs the scope `wallets:write`. */
    public function unwatch(string $walletId): void
    {
        $this->call('DELETE', ['/wallets/{}', $walletId]);
    }

    /**
     * List a watched wallet's transactions. Needs the scope `wallets:read`.
     *
     * @param ListTransactionsWalletsQuery $query
     * @return Pages<Movement>
     */
    public function listTransactions(string $walletId, array $query = []): Pages
    {
        return $this->pages(['/wallets/{}/transactions', $walletId], $query);
    }
}
