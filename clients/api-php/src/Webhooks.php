<?php

declare(strict_types=1);

namespace Florin;

/** Verifies webhooks: the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`, else `X-Service-Signature`. */
final class Webhooks
{
    public const TOLERANCE_SECONDS = 300;

    private const PREFIX = 'whsec_';

    /**
     * Return the event of a webhook that one of the `$secrets` signed at most 300 seconds ago.
     *
     * `$body` is what arrived, before anything parsed it; `$headers` are by name, as `getallheaders()` returns them. One secret signs
     * both modes: give `livemode: false` to receive test events instead of live ones, null for both.
     *
     * @param array<string, string> $headers
     * @param string|list<string> $secrets
     * @return array<string, mixed>
     * @throws SignatureError|OtherModeError
     * @throws \InvalidArgumentException without a usable secret
     */
    public static function construct(
        string $body,
        array $headers,
        #[\SensitiveParameter] string|array $secrets,
        ?bool $livemode = true,
        ?float $now = null,
    ): array {
        $keys = (array) $secrets;
        if ($keys === []) {
            throw new \InvalidArgumentException('Give a webhook secret.');
        }
        array_map(self::plainKey(...), $keys);
        $told = array_change_key_case($headers);
        $isStandard = isset($told['webhook-signature']);
        $wanted = [];
        [$sentAt, $given] = $isStandard ? self::standard($told) : self::stripeLike($told['x-service-signature'] ?? '');
        $signed = ($isStandard ? ($told['webhook-id'] ?? '') . '.' : '') . "$sentAt.$body";
        foreach ($keys as $key) {
            $wanted[] = $isStandard
                ? base64_encode(self::digest(self::standardKey($key), $signed))
                : bin2hex(self::digest($key, $signed));
        }
        if (abs(($now ?? microtime(true)) - $sentAt) > self::TOLERANCE_SECONDS) {
            throw new SignatureError('The webhook was signed too long ago, or the clocks differ.');
        }
        if (!self::anyEqual($given, $wanted)) {
            throw new SignatureError('No secret made this signature.');
        }
        return self::event($body, $livemode);
    }

    /**
     * For your tests: return the headers of a webhook with this body, as Florin signs it.
     *
     * @return array<string, string>
     */
    public static function sign(string $body, #[\SensitiveParameter] string $secret, string $eventId = 'evt_test', ?int $now = null): array
    {
        $at = $now ?? time();
        return [
            'Content-Type' => 'application/json',
            'X-Service-Signature' => "t=$at,v1=" . bin2hex(self::digest(self::plainKey($secret), "$at.$body")),
            'webhook-id' => $eventId,
            'webhook-timestamp' => (string) $at,
            'webhook-signature' => 'v1,' . base64_encode(self::digest(self::standardKey($secret), "$eventId.$at.$body")),
        ];
    }

    /** @return array<string, mixed> */
    private static function event(string $body, ?bool $livemode): array
    {
        $event = json_decode($body, true);
        if (!is_array($event) || !is_bool($event['livemode'] ?? null)) {
            throw new SignatureError('The body is no event.');
        }
        if ($livemode !== null && $event['livemode'] !== $livemode) {
            throw new OtherModeError($event['livemode'] ? 'The event is of live mode.' : 'The event is of test mode.');
        }
        return $event;
    }

    /**
     * @param array<string, string> $told
     * @return array{int, list<string>}
     */
    private static function standard(array $told): array
    {
        $given = [];
        foreach (explode(' ', $told['webhook-signature']) as $part) {
            if (str_starts_with($part, 'v1,')) {
                $given[] = substr($part, 3);
            }
        }
        return [self::time($told['webhook-timestamp'] ?? ''), $given];
    }

    /** @return array{int, list<string>} */
    private static function stripeLike(string $header): array
    {
        $found = ['t' => [], 'v1' => []];
        foreach (explode(',', $header) as $field) {
            [$name, $value] = explode('=', $field, 2) + [1 => ''];
            $found[$name][] = $value;
        }
        if (count($found['t']) !== 1) {
            throw new SignatureError('The signature names no time, or several.');
        }
        return [self::time($found['t'][0]), $found['v1']];
    }

    private static function time(string $text): int
    {
        if (preg_match('/^[0-9]{1,12}\z/', $text) !== 1) {
            throw new SignatureError('The time of the signature is no number of seconds.');
        }
        return (int) $text;
    }

    private static function plainKey(string $secret): string
    {
        if (!str_starts_with($secret, self::PREFIX) || $secret === self::PREFIX) {
            throw new \InvalidArgumentException('A webhook secret begins with whsec_.');
        }
        return $secret;
    }

    private static function standardKey(string $secret): string
    {
        $key = base64_decode(substr(self::plainKey($secret), strlen(self::PREFIX)), true);
        if ($key === false) {
            throw new \InvalidArgumentException('A webhook secret is base64 after whsec_.');
        }
        return $key;
    }

    private static function digest(string $key, string $signed): string
    {
        return hash_hmac('sha256', $signed, $key, true);
    }

    /**
     * @param list<string> $given
     * @param list<string> $wanted
     */
    private static function anyEqual(array $given, array $wanted): bool
    {
        $matches = 0;
        foreach ($given as $one) {
            foreach ($wanted as $other) {
                $matches += (int) hash_equals($other, $one);
            }
        }
        return $matches > 0;
    }
}
