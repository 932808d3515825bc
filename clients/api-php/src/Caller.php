<?php

declare(strict_types=1);

namespace Florin;

/** Sends calls. `$wait` is the first pause before a repeat in seconds; each further one is twice as long. */
final class Caller
{
    private const LONGEST_WAIT_SECONDS = 60;

    /** @param array<string, string> $headers */
    public function __construct(
        private readonly Sender $sender,
        public readonly string $url,
        public readonly array $headers,
        private readonly int $retries,
        private readonly float $wait,
    ) {
    }

    /**
     * Send a request, again where that is safe and may help, and return its answer.
     *
     * @throws FlorinError
     */
    public function call(#[\SensitiveParameter] Request $request, bool $own, bool $raw): mixed
    {
        try {
            return $this->repeated($request, $own, $raw);
        } catch (FlorinError $error) {
            $error->idempotencyKey = $request->headers['Idempotency-Key'] ?? null;
            throw $error;
        }
    }

    /**
     * What var_dump shows: not the key.
     *
     * @return array<string, mixed>
     */
    public function __debugInfo(): array
    {
        return ['url' => $this->url];
    }

    private function repeated(#[\SensitiveParameter] Request $request, bool $own, bool $raw): mixed
    {
        $tries = $request->repeat ? $this->retries + 1 : 1;
        for ($number = 0;; $number++) {
            // Half of it is chance, so that programs that failed together do not come back together.
            $pause = $this->wait * 2 ** $number * (0.5 + random_int(0, 1_000) / 2_000);
            try {
                return self::answer($this->sender->send($request), $raw);
            } catch (ApiError $error) {
                $pause = self::pauseAfter($error, $pause, $own);
                if ($number === $tries - 1 || $pause === null) {
                    throw $error;
                }
            } catch (NoAnswerError $error) {
                if ($number === $tries - 1) {
                    throw $error;
                }
            }
            usleep((int) ($pause * 1_000_000));
        }
    }

    /** How long to wait before a repeat; null where it would not help. */
    private static function pauseAfter(ApiError $error, float $pause, bool $own): ?float
    {
        // A concurrent request with the same reference may still be creating the object.
        $isRace = $own && $error->status === 409 && $error->reason === 'state_conflict';
        if (!$isRace && $error->status !== 429 && $error->status < 500) {
            return null;
        }
        $wait = $error->retryAfter === null ? $pause : (float) $error->retryAfter;
        return $wait <= self::LONGEST_WAIT_SECONDS ? $wait : null;
    }

    private static function answer(Reply $reply, bool $raw): mixed
    {
        if ($reply->status < 200 || $reply->status >= 300) {
            throw new ApiError($reply);
        }
        if ($raw) {
            return $reply->body;
        }
        if ($reply->status === 204) {
            return null;
        }
        $found = json_decode($reply->body, true);
        if (!is_array($found) || !str_starts_with(ltrim($reply->body), '{')) {
            throw new NoAnswerError('The answer is no JSON object.');
        }
        return $found;
    }
}
