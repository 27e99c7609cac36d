<prompt schema="personalisation">
  <third-grade/><begginer/>
  <user>What is a fraction?</user>
</prompt>
