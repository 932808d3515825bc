<?php

// Sells and refunds at a running Florin in test mode, and prints what came of it. Arguments: its address, a test key, where webhooks go.
// With a file as its only argument it verifies the webhook in it: `body`, `headers` and `secret`.

declare(strict_types=1);

use Florin\ApiError;
use Florin\Florin;
use Florin\Webhooks;

require getenv('FLORIN_AUTOLOAD');

function sold(string $url, string $key, string $hook): array
{
    $florin = new Florin($url, $key);
    $order = ['amount' => '25.00', 'currency' => 'USD', 'order_ref' => 'live-1', 'webhook_url' => $hook];
    $first = $florin->checkouts->create($order);
    $again = $florin->checkouts->create($order);
    $others = [];
    for ($number = 0; $number < 2; $number++) {
        $others[] = $florin->checkouts->create(['amount' => '1.00', 'currency' => 'USD'])['id'];
    }
    $florin->checkouts->advance($first['id'], ['steps' => 1]);
    $refund = $florin->refunds->create(['source' => ['checkout' => $first['id']], 'amount' => '5.00', 'reference' => 'live-r-1']);
    $refused = null;
    try {
        $florin->checkouts->get('chk_test_none');
    } catch (ApiError $error) {
        $refused = [$error->status, $error->reason, $error->requestId !== null];
    }
    $listed = [];
    foreach ($florin->checkouts->list(['limit' => 2]) as $each) {
        $listed[] = $each['id'];
    }
    return [
        'same' => $first['id'] === $again['id'],
        'listed' => $listed === [...array_reverse($others), $first['id']],
        'status' => $florin->checkouts->get($first['id'])['status'],
        'refund' => [$refund['status'], $refund['amount']],
        'refused' => $refused,
        'checkout' => $first['id'],
    ];
}

function verified(string $file): string
{
    $told = json_decode(file_get_contents($file), true, flags: JSON_THROW_ON_ERROR);
    return Webhooks::construct($told['body'], $told['headers'], $told['secret'], livemode: false)['checkout_id'];
}

$given = array_slice($argv, 1);
echo count($given) === 1 ? verified($given[0]) : json_encode(sold(...$given), JSON_THROW_ON_ERROR);
