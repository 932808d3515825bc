<?php

// Makes every call of the suite and prints what came of it. Arguments: the folder of the suite, the server's address.
// FLORIN_TRANSPORT is `streams`, `curl`, or `psr18` for Debian's Guzzle; without it the package chooses. FLORIN_PROXY is a proxy's address.

declare(strict_types=1);

use Florin\ApiError;
use Florin\CurlSender;
use Florin\Florin;
use Florin\FlorinError;
use Florin\Psr18Sender;
use Florin\Sender;
use Florin\StreamSender;
use Florin\Webhooks;

require getenv('FLORIN_AUTOLOAD');

[, $folder, $server] = $argv;

function read(string $file): array
{
    return json_decode(file_get_contents($file), true, flags: JSON_THROW_ON_ERROR);
}

function camel(string $name): string
{
    return lcfirst(str_replace('_', '', ucwords($name, '_')));
}

function sender(float $seconds): ?Sender
{
    switch (getenv('FLORIN_TRANSPORT')) {
        case 'streams':
            return new StreamSender($seconds);
        case 'curl':
            return new CurlSender($seconds);
        case 'psr18':
            require_once '/usr/share/php/GuzzleHttp/autoload.php';
            $factory = new GuzzleHttp\Psr7\HttpFactory();
            return new Psr18Sender(new GuzzleHttp\Client(['timeout' => $seconds]), $factory, $factory);
        default:
            return null;
    }
}

function call(array $told, string $url): mixed
{
    $timeout = $told['timeout'] ?? 5;
    $florin = new Florin(
        $told['url'] ?? $url,
        $told['api_key'] ?? 'sk_test_conformance',
        timeout: $timeout,
        retries: $told['retries'] ?? 2,
        wait: 0.01,
        sender: sender($timeout),
        proxy: getenv('FLORIN_PROXY') ?: null,
    );
    [$resource, $name] = array_map('camel', explode('.', $told['call']));
    $given = $told['ids'] ?? [];
    if (isset($told['body']) || isset($told['args'])) {
        $given[] = $told['body'] ?? $told['args'];
    }
    $named = isset($told['key']) ? ['idempotencyKey' => $told['key']] : [];
    $answer = $florin->$resource->$name(...$given, ...$named);
    if ($told['page'] ?? false) {
        return $answer->page();
    }
    if (!($told['each'] ?? false)) {
        return $answer;
    }
    $found = [];
    foreach ($answer as $each) {
        $found[] = $each;
        if (count($found) === ($told['take'] ?? null)) {
            break;
        }
    }
    return $found;
}

function verify(array $told): string
{
    $options = array_key_exists('livemode', $told) ? ['livemode' => $told['livemode']] : [];
    return Webhooks::construct($told['body'], $told['headers'], $told['secrets'], ...$options, now: (float) $told['now'])['id'];
}

function outcome(Closure $work): array
{
    try {
        return ['result' => $work()];
    } catch (ApiError $error) {
        return ['error' => [
            'class' => 'ApiError',
            'status' => $error->status,
            'type' => $error->type,
            'code' => $error->reason,
            'param' => $error->param,
            'refundable' => $error->refundable,
            'required_scope' => $error->requiredScope,
            'request_id' => $error->requestId,
            'retry_after' => $error->retryAfter,
            'idempotency_key' => $error->idempotencyKey,
        ]];
    } catch (FlorinError $error) {
        return ['error' => ['class' => substr($error::class, strlen('Florin\\'))]];
    } catch (InvalidArgumentException) {
        return ['error' => ['class' => 'usage']];
    }
}

$scenarios = [];
foreach (read("$folder/scenarios.json") as $number => $each) {
    $scenarios[] = outcome(static fn (): mixed => call($each, "$server/s$number"));
}
$signatures = [];
foreach (read("$folder/signatures.json") as $each) {
    $signatures[] = outcome(static fn (): mixed => verify($each));
}
$signed = [];
foreach (read("$folder/signed.json") as $told) {
    $named = isset($told['event_id']) ? ['eventId' => $told['event_id']] : [];
    $signed[] = Webhooks::sign($told['body'], $told['secret'], ...$named, now: $told['now']);
}
echo json_encode(['scenarios' => $scenarios, 'signatures' => $signatures, 'signed' => $signed], JSON_THROW_ON_ERROR);
