<prompt schema="personalisation">
  <third-grade/><beginner/><first-time/><by-doing/><quiz/><reluctant/>
  <user>What is a fraction?</user>
</prompt>
