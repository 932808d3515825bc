<?php

declare(strict_types=1);

namespace Florin;

/**
 * Calls the API at `$url`, such as https://pay.example.com, with an API `$key`.
 *
 * A request takes at most `$timeout` seconds. It is repeated up to `$retries` times without an answer, and after 429 and 5xx, but only
 * where that does nothing twice: a GET, a body with its `order_ref` or `reference`, or a POST with an Idempotency-Key, which the client
 * makes unless you give one. PATCH and DELETE are sent once. `$proxy` is an address such as http://proxy.example:3128, and needs curl; none is
 * taken from the environment, and it is on this machine where the url is plain http. `$sender` carries requests instead of this package.
 */
final class Florin extends Operations
{
    private const VERSION = '0.1.0';

    public readonly bool $livemode;

    /**
     * @throws \InvalidArgumentException for a url that is not https (on this machine http will do), a key or a proxy that is none, and a
     *                                   proxy without curl or beside a sender
     */
    public function __construct(
        string $url,
        #[\SensitiveParameter] string $key,
        float $timeout = 30.0,
        int $retries = 2,
        float $wait = 0.5,
        ?Sender $sender = null,
        #[\SensitiveParameter] ?string $proxy = null,
    ) {
        if (preg_match('/^sk_(live|test)_[\x21-\x7e]+\z/', $key) !== 1) {
            throw new \InvalidArgumentException('The key begins with sk_live_ or sk_test_.');
        }
        $this->livemode = str_starts_with($key, 'sk_live_');
        $headers = [
            'Authorization' => "Bearer $key",
            'Accept' => 'application/json',
            'User-Agent' => 'florin-php/' . self::VERSION,
        ];
        if ($proxy !== null && ($sender !== null || !extension_loaded('curl'))) {
            throw new \InvalidArgumentException('A proxy needs the extension curl, and a sender of your own has its own proxy.');
        }
        $sender ??= extension_loaded('curl') ? new CurlSender($timeout, $proxy) : new StreamSender($timeout);
        parent::__construct(new Caller($sender, self::checked($url), $headers, $retries, $wait));
    }

    private static function checked(string $url): string
    {
        $parts = parse_url($url);
        $isPlain = is_array($parts) && !isset($parts['user']) && !isset($parts['query']) && !isset($parts['fragment']);
        $scheme = $isPlain ? strtolower($parts['scheme'] ?? '') : '';
        $host = $isPlain ? ($parts['host'] ?? '') : '';
        if (!in_array($scheme, ['http', 'https'], true) || $host === '') {
            throw new \InvalidArgumentException('The url is an https address with a host and at most a path.');
        }
        if ($scheme === 'http' && !Host::isLoopback($host)) {
            throw new \InvalidArgumentException('The url is plain http: the key would travel in the open.');
        }
        return rtrim($url, '/');
    }
}
