<?php

declare(strict_types=1);

namespace Florin;

/** Operations that share a path. */
abstract class Resource
{
    private const PREFIX = '/api/v1';

    public function __construct(private readonly Caller $caller)
    {
    }

    /**
     * @param list<string> $path
     * @param array<string, mixed>|null $body
     * @param array<string, mixed> $query
     * @throws FlorinError
     */
    protected function call(
        string $method,
        array $path,
        ?array $body = null,
        array $query = [],
        ?string $key = null,
        string $own = '',
        bool $takesKey = false,
        bool $raw = false,
    ): mixed {
        $headers = $this->caller->headers;
        $named = $own === '' ? null : ($body[$own] ?? null);
        // The server refuses what is no text.
        $hasOwn = is_string($named) && $named !== '';
        if ($takesKey && ($key !== null || !$hasOwn)) {
            $headers['Idempotency-Key'] = $key === null ? bin2hex(random_bytes(16)) : self::checked($key);
        }
        $content = null;
        if ($body !== null) {
            $headers['Content-Type'] = 'application/json';
            $content = json_encode((object) $body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION);
        }
        $repeat = $method === 'GET' || $hasOwn || isset($headers['Idempotency-Key']);
        $url = $this->caller->url . self::PREFIX . self::filled($path) . self::asked($query);
        return $this->caller->call(new Request($method, $url, $headers, $content, $repeat), $hasOwn, $raw);
    }

    /**
     * @param list<string> $path
     * @param array<string, mixed> $query
     * @return Pages<mixed>
     */
    protected function pages(array $path, array $query): Pages
    {
        return new Pages(fn (array $asked): mixed => $this->call('GET', $path, query: $asked), $query);
    }

    /** @param list<string> $path */
    private static function filled(array $path): string
    {
        $pattern = array_shift($path);
        foreach ($path as $id) {
            if (in_array($id, ['', '.', '..'], true)) {
                throw new \InvalidArgumentException('An id is empty or no id.');
            }
        }
        return sprintf(str_replace('{}', '%s', (string) $pattern), ...array_map('rawurlencode', $path));
    }

    /** @param array<string, mixed> $query */
    private static function asked(array $query): string
    {
        $told = array_filter($query, static fn (mixed $value): bool => $value !== null);
        $text = static fn (mixed $value): string => is_bool($value) ? ($value ? 'true' : 'false') : (string) $value;
        return $told === [] ? '' : '?' . http_build_query(array_map($text, $told), '', '&', PHP_QUERY_RFC3986);
    }

    private static function checked(string $key): string
    {
        if (preg_match('/^[\x20-\x7e]+\z/', $key) !== 1) {
            throw new \InvalidArgumentException('An Idempotency-Key is printable ASCII.');
        }
        return $key;
    }
}
