<?php

declare(strict_types=1);

namespace Florin;

/** What carries requests: `CurlSender`, `StreamSender`, `Psr18Sender`, or one of your own. It follows no redirect, and repeats nothing. */
interface Sender
{
    /** Bytes of a body. A longer answer counts as none. */
    public const LONGEST_ANSWER = 10_000_000;

    /** @throws NoAnswerError */
    public function send(#[\SensitiveParameter] Request $request): Reply;
}
